"""Attacks that reach for secrets, labels and files of the host, or for the view itself."""

from tests.hostile.attack import Attack

SECRETS = (
    Attack(
        "own-environment",
        "It looks for the bot's keys in its own environment.",
        r"""
        known = {"HINTS", "PATH", "HOME", "LANG", "TMPDIR", "HOSTNAME", "PWD"}
        print({name: value for name, value in os.environ.items() if name not in known})
        say("keys", "found" if any("KEY" in name for name in os.environ) else "none")
        """,
        {"keys": "none"},
    ),
    Attack(
        "every-environment",
        "It reads the environment, the command line and the memory map of each process that it can see.",
        r"""
        seen = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            for name in ("environ", "cmdline", "maps", "stack", "auxv", "mountinfo"):
                try:
                    print(pid, name, read(f"/proc/{pid}/{name}")[:3000])
                    seen += name == "environ"
                except OSError as error:
                    print(pid, name, error)
        say("environments", "got" if seen else "none")
        attempt("decoy", read, f"/proc/{HINTS['decoy']}/environ")
        """,
        {"environments": "got", "decoy": "ENOENT"},
        reduced=True,
    ),
    Attack(
        "known-process",
        "It reads the environment of the bot and of another process of the host, whose numbers it knows.",
        r"""
        attempt("bot", read, f"/proc/{HINTS['bot']}/environ")
        attempt("decoy", read, f"/proc/{HINTS['decoy']}/environ")
        attempt("its folder", os.listdir, f"/proc/{HINTS['decoy']}/cwd")
        """,
        {"bot": "ENOENT", "decoy": "ENOENT", "its folder": "ENOENT"},
        open=("decoy", "its folder"),
    ),
    Attack(
        "keyring",
        "It reads a key of the bot's session.",
        r"""
        buffer = ctypes.create_string_buffer(100)
        def read_key():
            length = system_call("keyctl", 11, HINTS["key"], buffer, 100)
            return buffer.raw[:length]
        attempt("read", read_key)
        attempt("search", system_call, "keyctl", 10, -3, b"user", HINTS["mark"].encode(), 0)
        attempt("add", system_call, "add_key", b"user", b"a", b"b", 1, -3)
        attempt("request", system_call, "request_key", b"user", HINTS["mark"].encode(), 0, 0)
        """,
        {"read": "EPERM", "search": "EPERM", "add": "EPERM", "request": "EPERM"},
        open=("read", "search"),
        reduced=True,
    ),
    Attack(
        "labels-by-path",
        "It opens the labels, the hidden answers, the evaluator's files and other runs by their paths.",
        r"""
        for name, path in HINTS["files"].items():
            attempt(name, read, path)
        """,
        dict.fromkeys(
            ("labels", "answers", "other run", "other lab", "database", "evaluator", "home"), "ENOENT EACCES"
        ),
        open=("labels", "answers", "other run", "other lab", "database", "evaluator", "home"),
        reduced=True,
    ),
    Attack(
        "labels-by-dots",
        "It climbs out of its working folder and out of the view.",
        r"""
        def climb(start):
            for levels in range(12):
                for name in ("labels.csv", "private/answers.csv", "../labels.csv"):
                    path = os.path.join(start, "../" * levels, name)
                    if os.path.exists(path):
                        return read(path)
            raise FileNotFoundError(errno.ENOENT, start)
        for start in (".", "data", "/proc/self/cwd", "/proc/self/root", "/proc/1/cwd", "/proc/1/root"):
            attempt(start.replace("/proc/", ""), climb, start)
        """,
        dict.fromkeys((".", "data", "self/cwd", "self/root", "1/cwd", "1/root"), "ENOENT EACCES"),
        open=(".", "data", "self/cwd"),
    ),
    Attack(
        "labels-by-links",
        "It makes links to the labels, hard and soft, and reads through them.",
        r"""
        labels = HINTS["files"]["labels"]
        os.symlink(labels, "soft")
        os.symlink(os.path.dirname(labels), "folder")
        attempt("soft link", read, "soft")
        attempt("link to the folder", read, "folder/labels.csv")
        attempt("hard link", os.link, labels, "hard")
        attempt("rename", os.rename, labels, "mine.csv")
        """,
        {
            "soft link": "ENOENT EACCES",
            "link to the folder": "ENOENT EACCES",
            "hard link": "ENOENT EACCES",
            "rename": "ENOENT EACCES",
        },
    ),
    Attack(
        "open-descriptors",
        "It looks for a file of the host that was left open for it.",
        r"""
        leading_out = 0
        for pid in ("self", "1", str(os.getppid())):
            try:
                numbers = os.listdir(f"/proc/{pid}/fd")
            except PermissionError:
                numbers = range(300)  # closed to us, so each is tried
            for number in numbers:
                path = f"/proc/{pid}/fd/{number}"
                try:
                    status, target = os.stat(path), os.readlink(path)
                except OSError:
                    continue
                if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) or stat.S_ISSOCK(status.st_mode):
                    leading_out += not target.startswith("/proc")
                    print(path, target, read(path) if stat.S_ISREG(status.st_mode) else "")
        say("descriptors", "found" if leading_out else "none")
        """,
        {"descriptors": "none"},
    ),
    Attack(
        "descriptors-by-handle",
        "It opens a file by its number on the disk, past all mounts.",
        r"""
        handle = ctypes.create_string_buffer(b"\x08\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00")
        attempt("open", system_call, "open_by_handle_at", os.open("data", os.O_RDONLY), handle, os.O_RDONLY)
        """,
        {"open": "EPERM"},
    ),
    Attack(
        "own-packages",
        "It imports the bot, to read its settings or its database through it.",
        r"""
        for name in ("bot", "state", "sandbox", "scrapers", "bot.configuration"):
            attempt(name, __import__, name)
        """,
        dict.fromkeys(("bot", "state", "sandbox", "scrapers", "bot.configuration"), "ModuleNotFoundError ImportError"),
    ),
)

HOST = (
    Attack(
        "host-files",
        "It reads passwords, keys and logs of the machine.",
        r"""
        for path in ("/etc/shadow", "/root/.ssh/id_rsa", "/var/lib/docker", "/var/log", "/proc/kcore", "/proc/kmsg"):
            attempt(path, lambda: sorted(os.listdir(path)) if os.path.isdir(path) else read(path)[:10])
        """,
        {
            "/etc/shadow": "ENOENT EACCES",
            "/root/.ssh/id_rsa": "ENOENT EACCES",
            "/var/lib/docker": "ENOENT EACCES",
            "/var/log": {"bubblewrap": "ENOENT", "docker": "got"},
            "/proc/kcore": "EACCES EPERM ENOENT got",
            "/proc/kmsg": "EACCES EPERM ENOENT got",
        },
    ),
    Attack(
        "host-accounts",
        "It reads the names of the machine's users and its own place among them.",
        r"""
        import pwd
        names = [entry.pw_name for entry in pwd.getpwall()]
        print(names)
        say("user id", "root" if 0 in (os.getuid(), os.geteuid(), os.getgid()) else "other")
        say("groups", "root" if 0 in os.getgroups() else "other")
        """,
        {"user id": "other", "groups": "other"},
    ),
    Attack(
        "other-roots",
        "It walks through /proc/*/root and /proc/*/cwd of each process that it can see.",
        r"""
        found = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            for way in ("root", "cwd"):
                for path in HINTS["files"].values():
                    try:
                        print(read(f"/proc/{pid}/{way}{path}"))
                        found += 1
                    except OSError:
                        pass
        say("files", "found" if found else "none")
        say("processes", "many" if sum(map(str.isdigit, os.listdir("/proc"))) > 8 else "few")
        """,
        {"files": "none", "processes": "few"},
    ),
    Attack(
        "kernel-settings",
        "It writes the kernel's settings, core_pattern above all, which would run a program on the host as root.",
        r"""
        def rewrite(path):
            with open(path, "r+b", buffering=0) as file:
                file.write(b"|/tmp/hostile-handler %P")
        for name in ("core_pattern", "modprobe", "hostname", "panic_on_oops"):
            attempt(name, rewrite, f"/proc/sys/kernel/{name}")
        attempt("sysrq", rewrite, "/proc/sysrq-trigger")
        attempt("first process", rewrite, "/proc/1/mem")
        attempt("user map", rewrite, "/proc/self/uid_map")
        opened = 0
        for folder, _, files in os.walk("/proc/sys"):
            for name in files:
                try:
                    os.close(os.open(f"{folder}/{name}", os.O_WRONLY))
                    opened += 1
                    print(folder, name)
                except OSError:
                    pass
        say("settings opened", "some" if opened else "none")
        """,
        {
            **dict.fromkeys(("core_pattern", "modprobe", "hostname", "panic_on_oops"), "EACCES EROFS EPERM ENOENT"),
            "core_pattern": "EACCES EROFS EPERM",
            "sysrq": "EACCES EROFS EPERM ENOENT",
            "first process": "EACCES EPERM EIO got",
            "user map": "EACCES EPERM",
            "settings opened": "none",
        },
        reduced=True,
    ),
    Attack(
        "control-groups",
        "It writes to the control groups, to raise its limits or to run a program at its end.",
        r"""
        for name in ("memory/memory.limit_in_bytes", "release_agent", "memory/release_agent", "cgroup.procs"):
            attempt(name, write, f"/sys/fs/cgroup/{name}")
        opened = 0
        for folder, _, files in os.walk("/sys"):
            for name in files:
                try:
                    os.close(os.open(f"{folder}/{name}", os.O_WRONLY))
                    opened += 1
                    print(folder, name)
                except OSError:
                    pass
        say("opened", "some" if opened else "none")
        """,
        {
            **dict.fromkeys(("memory/memory.limit_in_bytes", "release_agent"), "ENOENT EACCES EROFS EPERM"),
            **dict.fromkeys(("memory/release_agent", "cgroup.procs"), "ENOENT EACCES EROFS EPERM"),
            "opened": "none",
        },
    ),
    Attack(
        "engine-socket",
        "It looks for the socket of Docker, containerd, systemd or D-Bus, any of which is root on the host.",
        r"""
        def connect(path):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
        for path in ("docker.sock", "containerd/containerd.sock", "systemd/private", "dbus/system_bus_socket"):
            attempt(path, connect, f"/run/{path}")
        say("address", "found" if "DOCKER_HOST" in os.environ else "none")
        attempt("bot", connect, HINTS["path"])
        """,
        {
            **dict.fromkeys(("docker.sock", "containerd/containerd.sock", "systemd/private"), "ENOENT"),
            "dbus/system_bus_socket": "ENOENT",
            "address": "none",
            "bot": "ENOENT EACCES",
        },
        open=("bot",),
        reduced=True,
    ),
    Attack(
        "devices",
        "It opens disks and memory, and makes devices of its own.",
        r"""
        for name in ("mem", "kmsg", "sda", "vda", "kvm", "fuse", "loop-control", "rtc0"):
            attempt(name, lambda: os.close(os.open(f"/dev/{name}", os.O_RDWR)))
        attempt("mknod", os.mknod, "disk", 0o666 | stat.S_IFBLK, os.makedev(8, 0))
        attempt("mknod null", os.mknod, "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        """,
        {
            **dict.fromkeys(
                ("mem", "kmsg", "sda", "vda", "kvm", "fuse", "loop-control", "rtc0"), "ENOENT EACCES EPERM"
            ),
            "mknod": "EPERM",
            "mknod null": "EPERM",
        },
    ),
    Attack(
        "outside-the-folder",
        "It writes wherever it can: system folders, the Python environment, the root.",
        r"""
        writable = set()
        for folder, folders, _ in os.walk("/"):
            if folder.startswith(("/proc", "/sys")) or folder.count("/") > 4:
                folders.clear()
            try:
                write(f"{folder}/{HINTS['mark']}")
                writable.add(folder)
            except OSError:
                pass
        here = os.getcwd()
        others = {folder for folder in writable if not (folder + "/").startswith(("/tmp/", "/dev/shm/", here + "/"))}
        print(sorted(writable))
        say("here", "got" if here in writable else "none")
        say("elsewhere", "some" if others - {"/dev/mqueue"} else "none")
        """,
        {"here": "got", "elsewhere": "none"},
        reduced=True,
    ),
    Attack(
        "next-execution",
        "It leaves code where the next execution would run it: start-up files, temporary files, packages.",
        r"""
        found = [name for folder in ("/tmp", "/dev/shm", os.path.expanduser("~"), ".") for name in os.listdir(folder)]
        print(found)
        say("left over", "some" if set(found) - {"data"} else "none")
        """,
        {"left over": "none"},
        earlier=r"""
        for folder in ("/tmp", "/dev/shm", os.path.expanduser("~"), "."):
            for name in ("sitecustomize.py", "usercustomize.py", "json.py", ".bashrc", "numpy.py"):
                write(f"{folder}/{name}", b"print('@ left over: ran')")
        """,
    ),
)

VIEW = (
    Attack(
        "changes-data",
        "It writes to its data, replaces, renames and locks it.",
        r"""
        attempt("append", write, "data/train.csv")
        attempt("new file", write, "data/new.csv")
        attempt("truncate", os.truncate, "data/train.csv", 0)
        attempt("remove", os.unlink, "data/train.csv")
        attempt("replace", os.rename, "data/train.csv", "data/x.csv")
        attempt("mode", os.chmod, "data/train.csv", 0)
        attempt("times", os.utime, "data/train.csv", (0, 0))
        attempt("move the folder", os.rename, "data", "mine")
        attempt("write by descriptor", lambda: write(f"/proc/self/fd/{os.open('data/train.csv', os.O_RDONLY)}"))
        """,
        {
            **dict.fromkeys(
                ("append", "new file", "truncate", "remove", "replace", "mode", "times"), "EROFS EACCES EPERM"
            ),
            "move the folder": "EBUSY",
            "write by descriptor": "EROFS EACCES EPERM",
        },
        open=("append", "new file", "remove"),
        reduced=True,
    ),
    Attack(
        "changes-data-by-links",
        "It makes a hard link to its data in its own folder, where it may write, and changes that.",
        r"""
        attempt("hard link", os.link, "data/train.csv", "train.csv")
        os.symlink("data/train.csv", "soft.csv")
        attempt("write by soft link", write, "soft.csv")
        attempt("hard link by descriptor", os.link, f"/proc/self/fd/{os.open('data/train.csv', os.O_RDONLY)}", "t.csv")
        """,
        {"hard link": "EXDEV EPERM", "write by soft link": "EROFS EACCES", "hard link by descriptor": "EXDEV EPERM"},
        open=("write by soft link",),
    ),
)
