"""Attacks on memory: everything that holds bytes."""

from tests.hostile.attack import Attack

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
