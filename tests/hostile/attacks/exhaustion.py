"""Attacks that use up the machine: processes, memory, disk, time, descriptors, cores."""

from sandbox import Limits
from tests.hostile.attack import Attack

_DEFAULT = Limits(seconds=20)
"""Those of one execution, unless configured otherwise."""
_DOCUMENTED = {
    "memory_bytes": _DEFAULT.memory_bytes,
    "processes": _DEFAULT.processes,
    "written_bytes": _DEFAULT.written_bytes,
    "files": _DEFAULT.files,
}

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
        ends="finished timed_out",
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

MEMORY = (
    Attack(
        "memory-bomb",
        "One process takes memory without end.",
        r"""
        hoard = []
        say("begun", "yes")
        while True:
            hoard.append(bytearray(b"x") * 10_000_000)
        """,
        {"begun": "yes"},
        ends="out_of_memory",
        reduced=True,
    ),
    Attack(
        "memory-of-many",
        "Many children, none of them large, take more than is allowed together.",
        r"""
        say("begun", "yes")
        for _ in range(12):
            if os.fork() == 0:
                block = bytearray(b"x") * 40_000_000
                time.sleep(99)
        failed = any(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(12))
        sys.exit(failed)
        """,
        {"begun": "yes"},
        ends="out_of_memory",
        reduced=True,
    ),
    Attack(
        "memory-of-a-child",
        "A child runs out of memory, and its parent ends as if nothing had been.",
        r"""
        if os.fork() == 0:
            block = bytearray(b"x") * 900_000_000
            say("survived", "yes")
            os._exit(0)
        say("child", "failed" if os.wait()[1] else "well")
        """,
        {"child": "failed"},
        notes="memory",
    ),
    Attack(
        "memory-anonymous",
        "Shared memory without a name, taken out of sight of who counts what processes hold.",
        r"""
        import mmap
        hoard = []
        def take():
            for _ in range(100):
                hoard.append(mmap.mmap(-1, 10_000_000))
                hoard[-1].write(b"x" * 10_000_000)
                hoard[-1].madvise(mmap.MADV_DONTNEED)
        say("begun", "yes")
        attempt("take", take)
        """,
        {"begun": "yes", "take": {"bubblewrap": "EPERM", "docker": "unsaid"}},
        ends={"bubblewrap": "finished", "docker": "out_of_memory"},
    ),
    Attack(
        "memory-files",
        "Files in memory that have no name in any folder, and lie in a socket where no process has them open.",
        r"""
        mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        def take():
            for number in range(100):
                descriptor = os.memfd_create(str(number))
                for _ in range(10):
                    os.write(descriptor, b"x" * 1_000_000)
                mine.setblocking(False)
                socket.send_fds(mine, [b"x"], [descriptor])
                os.close(descriptor)
        say("begun", "yes")
        attempt("take", take)
        """,
        {"begun": "yes", "take": {"bubblewrap": "ENOSYS", "docker": "unsaid"}},
        ends={"bubblewrap": "finished", "docker": "out_of_memory"},
        reduced=True,
    ),
    Attack(
        "memory-of-a-device",
        "Memory by way of /dev/zero, which is shared when it is mapped so.",
        r"""
        import mmap
        hoard = []
        def take():
            for _ in range(100):
                with open("/dev/zero", "r+b", buffering=0) as file:
                    hoard.append(mmap.mmap(file.fileno(), 10_000_000))
                hoard[-1].write(b"x" * 10_000_000)
                hoard[-1].madvise(mmap.MADV_DONTNEED)
        say("begun", "yes")
        attempt("take", take)
        """,
        {"begun": "yes", "take": {"bubblewrap": "EACCES EROFS ValueError", "docker": "unsaid"}},
        ends={"bubblewrap": "finished", "docker": "out_of_memory"},
    ),
    Attack(
        "tmpfs-fill",
        "It fills the folder for temporary files, which lies in memory.",
        r"""
        say("begun", "yes")
        for number in range(100):
            write(f"/tmp/{number}", b"x" * 10_000_000)
            time.sleep(0.01)
        say("survived", "yes")
        """,
        {"begun": "yes"},
        ends="out_of_memory disk_limit",
    ),
    Attack(
        "shm-fill",
        "It fills /dev/shm.",
        r"""
        say("begun", "yes")
        for number in range(100):
            write(f"/dev/shm/{number}", b"x" * 10_000_000)
            time.sleep(0.01)
        say("survived", "yes")
        """,
        {"begun": "yes"},
        ends="out_of_memory disk_limit",
    ),
    Attack(
        "kernel-memory",
        "It fills pipes, whose memory is the kernel's.",
        r"""
        pipes = []
        say("begun", "yes")
        for _ in range(1000):
            pipes.append(os.pipe())
            os.set_blocking(pipes[-1][1], False)
            try:
                os.write(pipes[-1][1], bytes(65536))
            except BlockingIOError:
                pass
        """,
        {"begun": "yes"},
        ends={"bubblewrap": "finished", "docker": "out_of_memory"},
        limits={"memory_bytes": 48_000_000},
    ),
    Attack(
        "shared-memory-left",
        "It leaves shared memory behind, of each kind that there is.",
        r"""
        attempt("named", write, f"/dev/shm/{HINTS['mark']}", b"x" * 1000)
        attempt("system v", system_call, "shmget", 0x0BADCAFE, ctypes.c_size_t(4096), 0o1666)
        attempt("queue", system_call, "mq_open", HINTS["mark"].encode(), os.O_CREAT | os.O_RDWR, 0o600, None)
        attempt("memfd", os.memfd_create, HINTS["mark"])
        """,
        {
            "named": "got",
            "system v": {"bubblewrap": "EPERM", "docker": "got"},
            "queue": "got EPERM EACCES",
            "memfd": {"bubblewrap": "ENOSYS", "docker": "got"},
        },
    ),
)

DISK = (
    Attack(
        "one-large-file",
        "One file without end.",
        r"""
        say("begun", "yes")
        while True:
            write("large", b"x" * 1_000_000)
        """,
        {"begun": "yes"},
        ends="disk_limit",
        reduced=True,
    ),
    Attack(
        "many-files",
        "Many files of a moderate size.",
        r"""
        say("begun", "yes")
        for number in range(60):
            write(f"file{number}", b"x" * 1_000_000)
        """,
        {"begun": "yes"},
        ends="disk_limit",
    ),
    Attack(
        "inode-fill",
        "Empty files in great number.",
        r"""
        os.mkdir("many")
        say("begun", "yes")
        for number in range(4000):
            os.close(os.open(f"many/{number}", os.O_CREAT | os.O_WRONLY))
        """,
        {"begun": "yes"},
        ends="disk_limit",
        reduced=True,
    ),
    Attack(
        "nameless-files",
        "Files on disk that have no name any more, which no folder shows.",
        r"""
        hoard = []
        say("begun", "yes")
        for number in range(60):
            hoard.append(open("nameless", "wb"))
            os.unlink("nameless")
            hoard[-1].write(b"x" * 1_000_000)
            hoard[-1].flush()
        time.sleep(99)
        """,
        {"begun": "yes"},
        ends="disk_limit",
    ),
    Attack(
        "files-in-flight",
        "Files on disk that have no name, and lie in a socket where no process has them open.",
        r"""
        mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        for number in range(6):
            descriptor = os.open("nameless", os.O_CREAT | os.O_WRONLY)
            os.unlink("nameless")
            os.write(descriptor, b"x" * 10_000_000)
            socket.send_fds(mine, [b"x"], [descriptor])
            os.close(descriptor)
        say("files", "made")
        time.sleep(1)
        """,
        {"files": "made"},
    ),
    Attack(
        "sparse-terabyte",
        "A file of a terabyte that takes no room.",
        """
        def lengthen():
            with open("sparse", "wb") as file:
                file.truncate(10**12)
        attempt("terabyte", lengthen)
        """,
        {"terabyte": "EFBIG"},
    ),
    Attack(
        "deep-folders",
        "Folders nested deeper than a path can name.",
        r"""
        say("begun", "yes")
        for _ in range(100):
            os.mkdir("d" * 100)
            os.chdir("d" * 100)
        """,
        {"begun": "yes"},
        ends="disk_limit",
    ),
    Attack(
        "locked-folders",
        "Folders that nobody may open, with files in them, in the way of who cleans up.",
        r"""
        for number in range(20):
            os.makedirs(f"locked{number}/inner/inner")
            write(f"locked{number}/inner/inner/file")
            os.chmod(f"locked{number}/inner/inner", 0)
            os.chmod(f"locked{number}", 0)
        os.chmod(".", 0)
        say("locked", "yes")
        """,
        {"locked": "yes"},
        reduced=True,
    ),
    Attack(
        "hidden-fill",
        "It closes its working folder to readers and goes on writing there.",
        r"""
        os.chmod(".", 0o300)
        say("closed", "yes")
        for number in range(60):
            write(f"file{number}", b"x" * 1_000_000)
            os.chmod(".", 0o300)
        """,
        {"closed": "yes"},
        ends="disk_limit",
        reduced=True,
    ),
    Attack(
        "ten-thousand-links",
        "Ten thousand names, hard and soft, of one file.",
        r"""
        write("file")
        say("begun", "yes")
        for number in range(5000):
            os.link("file", f"hard{number}")
            os.symlink("file", f"soft{number}")
        """,
        {"begun": "yes"},
        ends="disk_limit",
    ),
    Attack(
        "documented-limits",
        "It goes beyond the documented limits of memory, of one file and of processes.",
        r"""
        def lengthen():
            with open("large", "wb") as file:
                file.truncate(2_010_000_000)
        attempt("file", lengthen)
        try:
            say("memory", f"got {len(bytearray(4_700_000_000))}")
        except MemoryError:
            say("memory", "refused")
        for _ in range(400):
            if os.fork() == 0:
                time.sleep(99)
        say("processes", "got")
        """,
        {"file": "EFBIG", "memory": "refused"},
        ends="process_limit",
        limits=_DOCUMENTED,
        reduced=True,
    ),
    Attack(
        "descriptors",
        "It opens files until it is refused.",
        r"""
        def hoard():
            held = []
            while True:
                held.append(os.open("/dev/null", os.O_RDONLY))
        attempt("open", hoard)
        """,
        {"open": "EMFILE"},
    ),
)

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
            "The sandbox could not start the script: prlimit: failed to set the NPROC resource limit",
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
        print("Traceback (most recent call last):\n  File \"bot/evaluation/worker.py\", line 1, in score")
        print("state.errors.InfrastructureFailure: the evaluator failed\nvalidation score: 1.0")
        """,
        {"begun": "yes"},
    ),
)
