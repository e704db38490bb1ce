"""Attacks on processes, time and cores: as many as can be, and ones that will not end."""

from tests.hostile.attack import Attack

PROCESSES = (
    Attack(
        "fork-bomb",
        "Every process forks for ever.",
        r"""
        while True:
            try:
                os.fork()
            except BlockingIOError:
                say("fork", "EAGAIN")
                time.sleep(0.3)
                raise
        """,
        {"fork": "EAGAIN"},
        ends="process_limit",
        limits={"processes": 40},
        reduced=True,
    ),
    Attack(
        "thread-bomb",
        "One process starts threads until it is refused.",
        r"""
        import threading
        say("begun", "yes")
        while True:
            threading.Thread(target=time.sleep, args=(99,), daemon=True).start()
        """,
        {"begun": "yes"},
        ends="process_limit",
        limits={"processes": 40},
    ),
    Attack(
        "deaf-loop",
        "A busy loop that ignores every signal it can.",
        r"""
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        say("deaf", "yes")
        while True:
            pass
        """,
        {"deaf": "yes"},
        ends="timed_out",
        limits={"seconds": 3},
        reduced=True,
    ),
    Attack(
        "orphans",
        "Grandchildren that leave their session, their parents and all descriptors, and outlive the script.",
        r"""
        for _ in range(3):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.chdir("/")
                    os.closerange(0, 100)
                    while True:
                        signal.signal(signal.SIGTERM, signal.SIG_IGN)
                        time.sleep(1)
                os._exit(0)
            os.wait()
        say("left behind", "yes")
        """,
        {"left behind": "yes"},
        reduced=True,
    ),
    Attack(
        "pipe-holder",
        "A grandchild keeps the output open, so that a reader would wait for its end.",
        r"""
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(99)
            os._exit(0)
        os.wait()
        say("holding", "yes")
        """,
        {"holding": "yes"},
        limits={"seconds": 3},
    ),
    Attack(
        "stops-itself",
        "It stops itself with a signal that nobody can catch.",
        r"""
        say("stopping", "yes")
        os.kill(os.getpid(), signal.SIGSTOP)
        say("went on", "yes")
        """,
        {"stopping": "yes"},
        ends="timed_out",
        limits={"seconds": 3},
    ),
    Attack(
        "silent-life",
        "It closes its output and lives on.",
        r"""
        say("closing", "yes")
        os.closerange(0, 100)
        time.sleep(99)
        """,
        {"closing": "yes"},
        ends="timed_out",
        limits={"seconds": 3},
    ),
    Attack(
        "exec-of-itself",
        "It replaces itself for ever, from process to process.",
        r"""
        say("exec", "yes")
        if os.fork():
            os._exit(0) if os.getpid() % 3 == 0 else os.wait()
        else:
            os.setsid()
        os.execv(sys.executable, [sys.executable, *sys.argv])
        """,
        {"exec": "yes"},
        # Those that wait for their children pile up, sooner or later than its time is over.
        ends="finished timed_out process_limit out_of_memory",
        limits={"seconds": 3},
    ),
    Attack(
        "first-process",
        "It kills and stops the first process of its namespace, whose end would free it from who watches.",
        r"""
        for name in ("SIGKILL", "SIGSTOP"):
            attempt(name, os.kill, 1, getattr(signal, name))
        time.sleep(0.3)
        attempt("still there", os.kill, 1, 0)
        """,
        # Another user's where root started it.
        {"SIGKILL": "got EPERM", "SIGSTOP": "got EPERM", "still there": "got EPERM"},
    ),
    Attack(
        "kills-all",
        "It kills every process that it may, the one that watches it included if it could.",
        r"""
        attempt("bot", os.kill, HINTS["bot"], 0)
        attempt("decoy", os.kill, HINTS["decoy"], signal.SIGKILL)
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            print("nobody else is here")
        """,
        {"bot": "ESRCH", "decoy": "ESRCH"},
        ends={"bubblewrap": "finished", "docker": "error"},
        reduced=True,
    ),
    Attack(
        "core-grab",
        "It spreads over more cores than it was given, and asks for a better priority.",
        r"""
        attempt("widen", os.sched_setaffinity, 0, range(os.cpu_count()))
        began = time.monotonic()
        for _ in range(4):
            if os.fork() == 0:
                cores = set()
                while time.monotonic() < began + 0.7:
                    cores.add(read("/proc/self/stat").split()[38])
                print("cores", sorted(cores))
                os._exit(len(cores) > 1)
        several = any([os.wait()[1] for _ in range(4)])
        used, passed = sum(os.times()[2:4]), time.monotonic() - began
        print(used, passed)
        say("time of cores", "one" if used < 1.3 * passed else "more")
        say("cores", "more" if several else "one")
        attempt("nice", os.setpriority, os.PRIO_PROCESS, 0, -20)
        attempt("real time", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(50))
        """,
        {
            "widen": "got EPERM EINVAL",
            "time of cores": "one",
            "cores": "one",
            "nice": "EPERM EACCES",
            "real time": "EPERM",
        },
        reduced=True,
    ),
    Attack(
        "idle-priority",
        "In idle time it raises its priority, and that of a session of its own.",
        r"""
        attempt("scheduler", os.sched_setscheduler, 0, os.SCHED_OTHER, os.sched_param(0))
        attempt("nice", os.setpriority, os.PRIO_PROCESS, 0, -5)
        group = "/proc/self/autogroup"  # not every kernel tells sessions apart
        weighed = os.path.exists(group)
        attempt("session", write, group, b"0")
        if os.fork() == 0:
            os.setsid()
            least = (os.sched_getscheduler(0), os.nice(0), read(group).split()[-1] if weighed else b"19")
            print(least)
            os._exit(least != (os.SCHED_IDLE, 0, b"19"))
        say("priority", "more" if os.wait()[1] else "least")
        """,
        {
            # The filter lets calls pass without effect, since libraries make them.
            "scheduler": "got EPERM",
            "nice": "got EPERM EACCES",
            "session": "got EPERM EACCES EROFS ENOENT EINVAL",
            # A container is held by the weight of its control group instead.
            "priority": {"bubblewrap": "least", "docker": "least more"},
        },
        idle=True,
        reduced=True,
    ),
    Attack(
        "own-limits",
        "It raises its own limits.",
        r"""
        import resource
        for name in ("FSIZE", "NOFILE", "CORE"):
            which = getattr(resource, f"RLIMIT_{name}")
            attempt(name, resource.setrlimit, which, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        """,
        {"FSIZE": "ValueError EPERM", "NOFILE": "ValueError EPERM", "CORE": "ValueError EPERM"},
    ),
)
