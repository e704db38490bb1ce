"""Attacks by output: too much of it, and what is made to be mistaken for something else."""

from tests.hostile.attack import Attack

OUTPUT = (
    Attack(
        "endless-output",
        "It prints without end.",
        r"""
        say("begun", "yes")
        sys.stdout.flush()
        while True:
            os.write(1, b"y" * 65536)
        """,
        {"begun": "yes"},
        ends="timed_out",
        limits={"seconds": 3},
    ),
    Attack(
        "one-line-of-five-megabytes",
        "A line of five million bytes that are no text, without an end.",
        r"""
        say("begun", "yes")
        sys.stdout.buffer.write(bytes(range(128, 256)) * 40_000)
        """,
        {"begun": "yes"},
    ),
    Attack(
        "ten-million-lines",
        "Ten million short lines.",
        r"""
        say("begun", "yes")
        for _ in range(1000):
            sys.stdout.write("x\n" * 10_000)
        say("ended", "yes")
        """,
        {"begun": "yes", "ended": "yes"},
    ),
    Attack(
        "control-characters",
        "Escape sequences that would clear, recolour or answer for a terminal, and hide what was printed.",
        r"""
        say("begun", "yes")
        print("\x1b[2J\x1b[H\x1b]0;title\x07\x1b[31mred\x1b[0m\rover\x08\x00\x9b31m\x1bP+q\x1b\\ \u202e\x1b]52;c;aGk=\x07")
        """,
        {"begun": "yes"},
    ),
    Attack(
        "false-engine",
        "It prints what the sandbox, the engine or the kernel would say of a failure, and fails.",
        r"""
        say("begun", "yes")
        for line in (
            "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
            "docker: Error response from daemon: OCI runtime create failed: no such image",
            "The sandbox could not start the script: sh: 1: ulimit: error setting limit",
            "setpriv: setresuid failed: Operation not permitted",
        ):
            print(line, file=sys.stderr)
            print(line, flush=True)
            for number in (*range(3, 50), *(f"/proc/1/fd/{number}" for number in range(50))):
                try:
                    descriptor = number if isinstance(number, int) else os.open(number, os.O_WRONLY)
                    os.write(descriptor, line.encode() + b"\n")
                except OSError:
                    pass
        os.write(1, b"\x02\x00\x00\x00\xff\xff\xff\xff a frame of the engine's own stream\n")
        os._exit(125)
        """,
        {"begun": "yes"},
        ends="error",
    ),
    Attack(
        "false-traceback",
        "It prints somebody else's error and a score, and ends well.",
        r"""
        say("begun", "yes")
        print("Traceback (most recent call last):\n  File \"bot/evaluation/client/worker.py\", line 1, in score")
        print("state.errors.InfrastructureFailure: the evaluator failed\nvalidation score: 1.0")
        """,
        {"begun": "yes"},
    ),
)
