"""Attacks on the kernel's own doors: rights, mounts, other processes, modules, namespaces, the clock."""

from tests.hostile.attack import Attack

_REFUSED = "EPERM"

RIGHTS = (
    Attack(
        "setuid",
        "It becomes root: by asking, by a program of root's, by one of its own.",
        r"""
        import glob, shutil, subprocess
        attempt("user", os.setuid, 0)
        attempt("group", os.setgid, 0)
        attempt("groups", os.setgroups, [0])
        shutil.copy("/usr/bin/id", "id")
        os.chmod("id", 0o6777)
        say("own program", "root" if "uid=0(" in subprocess.run(["./id"], capture_output=True, text=True).stdout else "no")
        tools = [path for path in glob.glob("/usr/bin/*") if os.stat(path).st_mode & stat.S_ISUID]
        print(tools)
        done = subprocess.run(["/usr/bin/su", "-c", "id"], capture_output=True, text=True) if tools else None
        say("su", "root" if done and "uid=0(" in done.stdout else "no")
        """,
        {"user": "EPERM EINVAL", "group": "EPERM EINVAL", "groups": "EPERM EINVAL", "own program": "no", "su": "no"},
        reduced=True,
    ),
    Attack(
        "capabilities",
        "It takes capabilities, and looks for any that were left.",
        r"""
        status = dict(line.split(":\t") for line in read("/proc/self/status").decode().splitlines() if ":\t" in line)
        held = [name for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") if int(status[name], 16)]
        print(held)
        say("held", "some" if set(held) - {"CapBnd"} else "none")
        say("new privileges", "refused" if status["NoNewPrivs"] == "1" else "open")
        say("filter", "on" if status["Seccomp"] == "2" else "off")
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        attempt("take", system_call, "capset", header, (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6))
        """,
        {"held": "none", "new privileges": "refused", "filter": "on", "take": "EPERM"},
        reduced=True,
    ),
    Attack(
        "mounts",
        "It mounts, unmounts, changes its root, and mounts what is read-only for writing.",
        r"""
        here = os.getcwd().encode()
        attempt("mount", libc, "mount", b"none", here, b"tmpfs", 0, None)
        attempt("bind", libc, "mount", b"/", here, None, 4096, None)
        attempt("writable data", libc, "mount", None, here + b"/data", None, 32 | 4096, None)
        attempt("unmount", libc, "umount2", b"/proc", 2)
        attempt("unmount data", libc, "umount2", here + b"/data", 2)
        attempt("root", libc, "chroot", here)
        attempt("pivot", system_call, "pivot_root", here, here)
        attempt("new mount", system_call, "fsopen", b"tmpfs", 0)
        attempt("tree", system_call, "open_tree", -100, b"/", 1)
        """,
        {
            **dict.fromkeys(("mount", "bind", "writable data", "unmount", "unmount data", "root", "pivot"), _REFUSED),
            "new mount": "EPERM ENOSYS",
            "tree": "EPERM ENOSYS",
        },
        reduced=True,
    ),
    Attack(
        "user-namespaces",
        "It makes namespaces of its own, in which it would be root.",
        r"""
        for name, flag in {"user": 0x10000000, "mount": 0x20000, "network": 0x40000000, "process": 0x20000000}.items():
            attempt(name, libc, "unshare", flag)
        attempt("both", libc, "unshare", 0x10000000 | 0x20000)
        def clone(flag):
            if system_call("clone", ctypes.c_ulong(flag | signal.SIGCHLD), None, None, None, None) == 0:
                os._exit(0)
        attempt("clone", clone, 0x10000000)
        arguments = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, signal.SIGCHLD)
        def clone3():
            if system_call("clone3", arguments, ctypes.c_size_t(88)) == 0:
                os._exit(0)
        attempt("clone3", clone3)
        attempt("join", lambda: libc("setns", os.open("/proc/1/ns/net", os.O_RDONLY), 0))
        """,
        {
            **dict.fromkeys(("user", "mount", "network", "process", "both", "clone"), _REFUSED),
            "clone3": "EPERM ENOSYS",
            "join": "EPERM EACCES",
        },
        reduced=True,
    ),
    Attack(
        "tracing",
        "It takes over other processes: by ptrace, by their memory, by their descriptors.",
        r"""
        parent = os.getppid()
        def attach(pid):
            libc("ptrace", 16, pid, None, None)
            os.waitpid(pid, 0x40000000)
            libc("ptrace", 17, pid, None, None)  # let go again: nobody else would end it
        attempt("attach to the first", attach, 1)
        attempt("attach to the parent", attach, parent)
        attempt("attach to the bot", attach, HINTS["bot"])
        buffer = ctypes.create_string_buffer(16)
        part = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 16)
        attempt("memory", system_call, "process_vm_readv", parent, part, ctypes.c_ulong(1), part, ctypes.c_ulong(1), 0)
        attempt("descriptor", lambda: system_call("pidfd_getfd", os.pidfd_open(parent), 0, 0))
        attempt("memory of the first", lambda: open("/proc/1/mem", "r+b").close())
        """,
        {
            "attach to the first": {"bubblewrap": "EPERM", "docker": "EPERM got"},
            "attach to the parent": {"bubblewrap": "EPERM", "docker": "EPERM got"},
            "attach to the bot": "EPERM ESRCH",
            "memory": {"bubblewrap": "EPERM", "docker": "EPERM got EFAULT"},
            "descriptor": {"bubblewrap": "EPERM", "docker": "EPERM got EBADF ENOSYS"},
            "memory of the first": {"bubblewrap": "EACCES EPERM got", "docker": "EACCES EPERM got"},
        },
    ),
)

KERNEL = (
    Attack(
        "kernel-modules",
        "It loads a module, unloads one, and starts another kernel.",
        r"""
        attempt("load", system_call, "init_module", b"x" * 100, ctypes.c_ulong(100), b"")
        attempt("load a file", system_call, "finit_module", os.open(sys.executable, os.O_RDONLY), b"", 0)
        attempt("unload", system_call, "delete_module", b"ext4", 0)
        attempt("kexec", system_call, "kexec_load", 0, ctypes.c_ulong(0), None, ctypes.c_ulong(0))
        attempt("ports", system_call, "iopl", 3)
        """,
        {"load": "EPERM", "load a file": "EPERM", "unload": "EPERM", "kexec": "EPERM ENOSYS", "ports": "EPERM"},
    ),
    Attack(
        "io-uring",
        "It asks for a ring of requests that the kernel carries out past the filter.",
        r"""
        attempt("ring", system_call, "io_uring_setup", 4, ctypes.create_string_buffer(120))
        """,
        {"ring": {"bubblewrap": "ENOSYS", "docker": "EPERM ENOSYS got"}},
    ),
    Attack(
        "bpf-and-events",
        "It loads a program into the kernel, counts its events, and handles page faults of its own.",
        r"""
        attempt("bpf", system_call, "bpf", 0, ctypes.create_string_buffer(72), 72)
        attempt("perf", system_call, "perf_event_open", ctypes.create_string_buffer(112), 0, -1, -1, 0)
        attempt("userfaultfd", system_call, "userfaultfd", 0)
        attempt("log", system_call, "syslog", 3, ctypes.create_string_buffer(100), 100)
        """,
        {
            "bpf": "EPERM",
            "perf": {"bubblewrap": "EPERM", "docker": "EPERM EACCES ENOENT"},
            "userfaultfd": "EPERM",
            "log": "EPERM",
        },
    ),
    Attack(
        "terminal",
        "It types into the terminal that the bot was started from.",
        r"""
        import fcntl, termios
        attempt("terminal", os.open, "/dev/tty", os.O_RDWR)
        for number in (0, 1, 2):
            attempt(f"type {number}", fcntl.ioctl, number, termios.TIOCSTI, b"x")
        attempt("console", os.open, "/dev/console", os.O_RDWR)
        """,
        {
            "terminal": "ENXIO ENOENT EACCES",
            **dict.fromkeys(("type 0", "type 1", "type 2"), "EPERM ENOTTY"),
            "console": "ENOENT EACCES ENXIO EPERM EIO",
        },
    ),
    Attack(
        "clock",
        "It sets the machine's clock back, by each call that there is, and its files' times with it.",
        r"""
        attempt("time", time.clock_settime, time.CLOCK_REALTIME, 1_000_000)
        attempt("day", libc, "settimeofday", (ctypes.c_long * 2)(1_000_000, 0), None)
        attempt("slew", system_call, "adjtimex", (ctypes.c_long * 64)(0x0100, 1000))
        write("submission.csv", b"id,y\n1,0\n2,0\n")
        attempt("file", os.utime, "submission.csv", (0, 0))
        time.time = lambda: 0.0
        """,
        {"time": "EPERM", "day": "EPERM", "slew": "EPERM", "file": "got"},
        kept=("submission.csv",),
    ),
    Attack(
        "the-machine",
        "It restarts the machine, renames it, and takes its swap and its quota.",
        r"""
        attempt("restart", system_call, "reboot", 0xFEE1DEAD - 2**32, 672274793, 0, None)
        attempt("name", socket.sethostname, "owned")
        attempt("swap", system_call, "swapon", b"/dev/sda", 0)
        attempt("accounting", system_call, "acct", b"/tmp/x")
        attempt("quota", system_call, "quotactl", 0x800002, b"/dev/sda", 0, None)
        """,
        dict.fromkeys(("restart", "name", "swap", "accounting", "quota"), "EPERM"),
    ),
    Attack(
        "foreign-calls",
        "System calls by the numbers of another architecture, past a filter that knows one.",
        r"""
        child = os.fork()
        if child == 0:
            LIBC.syscall(ctypes.c_long(0x40000000 | HINTS["calls"]["getpid"]))
            os._exit(0 if ctypes.get_errno() == 0 else 7)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        say("x32", {-31: "killed", 7: "refused"}.get(status, "got"))
        """,
        {"x32": "killed refused"},
    ),
    Attack(
        "core-dump",
        "It crashes, so that its memory is written down or handed to a program of the host.",
        r"""
        say("crash", "yes")
        os.abort()
        """,
        {"crash": "yes"},
        ends="error",
    ),
)
