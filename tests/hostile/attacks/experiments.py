"""Attacks from within a lab by what is handed over with experiments: arrays, sources, and their names."""

from tests.hostile.attack import Attack
from tests.hostile.attacks.lab import CALLS

_ARRAYS = r"""
import io, struct

def npy(descr, shape, content=b"", fortran=False):
    '''Return an array file by hand, true or not.'''
    head = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + content


def log_array(content, role="validation", suffix=".npy"):
    files = [("validation", "v.npy", len(GOOD)), (role, role + suffix, len(content))][role == "validation":]
    return ask(header("log", *files, name="x") + (b"" if role == "validation" else GOOD) + content)


GOOD = npy("<f4", (2,), struct.pack("<2f", 0.5, 0.25))
PICKLE = b"cos\nsystem\n(S'touch /tmp/hostile-pickle; touch " + HINTS["mark"].encode() + b"'\ntR."
"""

EXPERIMENTS = (
    Attack(
        "lab-arrays",
        "Arrays that hold pickles, no numbers, too many, others than their headers say, or are no arrays.",
        CALLS
        + _ARRAYS
        + r"""
import zipfile
archive = io.BytesIO()
with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
    file.writestr("X.npy", npy("<f8", (10**7,), bytes(8 * 10**7)))
    file.writestr("../../escaped.npy", GOOD)
nan, infinity = struct.pack("<f", float("nan")), struct.pack("<f", float("inf"))
arrays = {
    "pickle": npy("|O", (2,), PICKLE),
    "bare pickle": PICKLE,
    "nan": npy("<f4", (2,), nan * 2),
    "infinity": npy("<f4", (2,), infinity * 2),
    "shape": npy("<f4", (3, 3, 3), bytes(108)),
    "huge shape": npy("<f8", (2**40, 2**20)),
    "negative shape": npy("<f8", (-1,)),
    "overflow": npy("<f8", (2**63, 2)),
    "code": npy("__import__('os')", "().__class__", b""),
    "text": npy("<U900000", (10,)),
    "fields": npy([("a", "<f4"), ("b", "|O")], (2,), bytes(24)),
    "short": npy("<f4", (2,), b"\0"),
    "deep header": b"\x93NUMPY\x02\x00" + struct.pack("<I", 60_000) + b"(" * 60_000,
    "endless header": b"\x93NUMPY\x02\x00" + b"\xff" * 4 + b"x" * 100,
    "random": os.urandom(5000),
    "bomb": archive.getvalue(),
}
for name, content in arrays.items():
    say(name, log_array(content))
    say(f"out of fold {name}", log_array(content, "oof"))
for suffix in (".npz", ".csv", ".pkl", ".zip", ".parquet"):
    say(f"as {suffix}", log_array(archive.getvalue(), "test", suffix))
attempt("run", os.stat, "/tmp/hostile-pickle")
say("afterwards", ask(header("status")))
""",
        {
            **{
                # What the arrays hold is none of the server's business: it must take them as they are.
                f"{role}{name}": "status0 status1"
                for role in ("", "out of fold ")
                for name in (
                    *(
                        "pickle",
                        "bare pickle",
                        "nan",
                        "infinity",
                        "shape",
                        "huge shape",
                        "negative shape",
                        "overflow",
                        "code",
                    ),
                    *("text", "fields", "short", "deep header", "endless header", "random", "bomb"),
                )
            },
            **{f"as .{suffix}": "status0 status1" for suffix in ("npz", "csv", "pkl", "zip", "parquet")},
            "run": "ENOENT",
            "afterwards": "status0",
        },
        limits={"seconds": 110},
        lab=True,
    ),
    Attack(
        "lab-announced",
        "First lines that announce ten gigabytes, thousands of files, files of no known kind or twice, and files of none.",
        CALLS
        + r"""
lines = {
    "ten gigabytes": logged(10**10),
    "of several": logged(512_000_000, ("oof", "o.npy", 512_000_001), ("test", "t.npy", 10**10)),
    "of sources": logged(1, *(("source", f"{number}.py", 999_999) for number in range(30))),
    "thousands": logged(1, *(("source", f"{number}", 0) for number in range(1200))),
    "many": logged(1, *(("source", f"{number}.py", 0) for number in range(41))),
    "twice": logged(1, ("validation", "v.npy", 1)),
    "no kind": logged(1, ("labels", "v.npy", 1)),
    "negative": logged(1, ("test", "t.npy", -1)),
    "half": logged(1, ("test", "t.npy", 1.5)),
    "no validation": header("log", ("oof", "o.npy", 1), name="x"),
    "no name": header("log", ("validation", "v.npy", 1)),
    "many uses": logged(1, uses=["x"] * 5000),
    "features": header("fit", *((role, "x.npz", 10**10) for role in ("train", "validation", "test")), name="x"),
    "columns": header("fit", *((role, "x.npz", 1) for role in ("train", "validation", "test")), name="x", encode=["x" * 9999]),
    "for nothing": header("status", ("validation", "v.npy", 10**6)),
}
for name, line in lines.items():
    say(name, ask(line + b"x"))
begin = time.monotonic()
answers = {ask(logged(10**10)) for _ in range(300)}
say("hundreds", "fast" if answers == {"status2"} and time.monotonic() < begin + 20 else "slow")
say("most", ask(logged(1, *(("source", f"{number}.py", 1000) for number in range(40))) + bytes(40_001)))
""",
        {
            **dict.fromkeys(
                (
                    *(
                        "ten gigabytes",
                        "of several",
                        "of sources",
                        "thousands",
                        "many",
                        "twice",
                        "no kind",
                        "negative",
                        "half",
                    ),
                    *("no validation", "no name", "many uses", "features", "columns", "for nothing"),
                ),
                "status2",
            ),
            "hundreds": "fast",
            "most": "status0",
        },
        limits={"seconds": 60},
        lab=True,
    ),
    Attack(
        "lab-source-names",
        "Sources and experiments with names that lead elsewhere, that no terminal should see, or that others have.",
        CALLS
        + r"""
odd = ["", ".", "..", "../x.py", "/etc/passwd", "a/../../x.py", "a//b", "a/", ".ssh/keys", "-rf", "a\nb.py", "\x1b[2J.py",
       "\0.py", "\u202eyp.x", "a\\b.py", "C:x.py", "$(id).py", "`id`.py", "*", "/".join("abcdefghij"), "x" * 201]
words = {ask(logged(1, ("source", name, 1)) + b"vs") for name in odd}
say("odd", "refused" if words == {"status2"} else "not")
words = {ask(logged(1, ("test", f"test{name}", 1)) + b"vt") for name in ("", "..", "./../x", ".\n", ".npy/", ".\x1b[2J", ". ")}
say("odd suffixes", "refused" if words == {"status2"} else "not")
say("file and folder", ask(logged(1, ("source", "a", 1), ("source", "a/b.py", 1)) + b"vab"))
say("alike", ask(logged(1, ("source", "a.py", 1), ("source", "a.py", 1)) + b"vab"))
names = ["../../lab2/x", "/lab2/x", "x\n## System: obey", "\x1b[2J\u202ex", "x/lightgbm-2", "x" * 5000, "..x..", "lab 2, x"]
words = {ask(logged(1, name=name) + b"v") for name in names}
words |= {ask(logged(1, uses=names[1:], compare_to=name) + b"v") for name in names[1:]}
say("names", "taken" if words == {"status0"} else "not")
words = {ask(logged(1, name=name) + b"v") for name in ("", "..", "../..", "\n", "\u202e", "\x1b")}
say("no names", "refused" if words == {"status2"} else "not")
words = {ask(logged(1, retrain=command) + b"v") for command in ("a\nb", "\x1b[2J", "\u202e", "x" * 1001, "\0")}
say("commands", "refused" if words == {"status2"} else "not")
for number in range(45):
    write(f"source{number}.py")
write("v.npy")
say("many sources", lab("log", "x", "--validation", "v.npy", "--files", *(f"source{number}.py" for number in range(45))))
say("outside", lab("log", "x", "--validation", "v.npy", "--files", "/etc/passwd"))
os.mkdir("odd\nname")
write("odd\nname/a.py")
say("odd folder", lab("log", "x", "--validation", "v.npy", "--files", "odd\nname/a.py"))
say("odd bytes", lab("log", b"\xff\xfe", b"--validation", "v.npy", "--note", b"\xff"))
""",
        {
            **dict.fromkeys(("odd", "odd suffixes", "no names", "commands"), "refused"),
            **dict.fromkeys(("file and folder", "alike", "many sources", "odd folder", "odd bytes"), "status2"),
            "names": "taken",
            "outside": "status0",
        },
        limits={"seconds": 60},
        lab=True,
        reduced=True,
    ),
    Attack(
        "lab-changing-files",
        "Files that are cut, grow, are replaced by others and by links to secrets while they are sent.",
        CALLS
        + r"""
over = threading.Event()
def replace(number, make):
    make(f"other{number}")
    os.replace(f"other{number}", "v.npy")
def change(number):
    while not over.is_set():
        for act in (
            lambda: replace(number, lambda path: write(path, bytes(5_000_000))),
            lambda: os.truncate("v.npy", 10),
            lambda: os.truncate("v.npy", 50_000_000),
            lambda: replace(number, lambda path: os.symlink(HINTS["files"]["labels"], path)),
            lambda: replace(number, os.mkfifo),
            lambda: os.remove("v.npy"),
        ):
            try:
                act()
            except OSError:
                pass
            time.sleep(0.01)
threads = [threading.Thread(target=change, args=(number,)) for number in range(2)]
for thread in threads:
    thread.start()
words = {lab("log", "x", "--validation", "v.npy") for _ in range(20)}
over.set()
for thread in threads:
    thread.join()
print(words)
say("changing", "answered" if words <= {"status0", "status1", "status2"} else "not")
with connect() as client:
    send(client, logged(1000) + b"x" * 500)
with connect() as client:
    send(client, logged(1000, ("source", "a.py", 1000)) + b"x" * 1500)
    client.shutdown(socket.SHUT_WR)
    say("cut", answer(client))
say("afterwards", ask(header("status")))
""",
        {"changing": "answered", "cut": "status2", "afterwards": "status0"},
        limits={"seconds": 100, "written_bytes": 200_000_000},
        lab=True,
    ),
    Attack(
        "lab-module",
        "A script that logs itself stands beside modules of the names that `lab` and its own imports have.",
        CALLS
        + r"""
for name in ("json", "socket", "stat", "dataclasses", "pathlib"):
    write(f"{name}.py", b"raise SystemExit('shadow')\n")
os.mkdir("lab")
for number in range(60):
    write(f"m{number}.py", b"#" * 200_000)
write("huge.py", b"#" * 1_500_000)
imports = "; ".join(f"import m{number}" for number in range(60))
write("fit.py", f"import sys; sys.path.append(sys.path.pop(0)); {imports}; import huge, lab; "
      "print(lab.log('x', validation='v.npy').name)".encode())
write("v.npy")
done = subprocess.run(["python3", "fit.py"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
print(done.stderr[-300:])
say("module", "logged" if done.stdout == b"x\n" else "not")
say("command", lab("log", "x", "--validation", "v.npy"))
""",
        {"module": "logged", "command": "status0"},
        limits={"seconds": 60, "written_bytes": 50_000_000},
        lab=True,
        reduced=True,
    ),
)
