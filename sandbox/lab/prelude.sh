# What the shell of each command does first: stand in for the agent should the kernel look for a process to kill for memory.
unset BASH_ENV
{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null
