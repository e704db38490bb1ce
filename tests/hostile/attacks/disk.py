"""Attacks on disks and descriptors: bytes, files, folders, links."""

from sandbox import Limits
from tests.hostile.attack import Attack

_DEFAULT = Limits(seconds=20)

_DOCUMENTED = {
    "memory_bytes": _DEFAULT.memory_bytes,
    "processes": _DEFAULT.processes,
    "written_bytes": _DEFAULT.written_bytes,
    "files": _DEFAULT.files,
}

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
