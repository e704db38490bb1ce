"""The agents: each a policy that says what to do next, with its prompts and settings, and one line where they are listed."""
