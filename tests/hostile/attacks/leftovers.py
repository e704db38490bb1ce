"""Attacks on who reads afterwards: what is left in the place of a submission, and around it."""

from collections.abc import Iterator

from tests.hostile.attack import Attack, Trial

_PREDICTIONS = "id,y\\n1,0\\n2,0\\n"


def _unharmed_submission(trial: Trial) -> Iterator[str]:
    """Yield what is wrong with a submission that must be the one that the script wrote."""
    submission = trial.outcome.files["submission.csv"]
    if submission.read_text() != "id,y\n1,0\n2,0\n":
        yield "the kept submission is not the one that was written"
    if submission.stat().st_mode & 0o7111:
        yield f"the kept submission may be run: its mode is {submission.stat().st_mode:o}"


def _plain_or_none(trial: Trial) -> Iterator[str]:
    """Yield what is wrong unless the file that the script wrote is kept, or none and it says why."""
    if trial.outcome.files:
        yield from _unharmed_submission(trial)
    elif not any("submission.csv was not kept" in note for note in trial.outcome.notes):
        yield "no submission was kept, and nothing says why"


def _no_submission(trial: Trial) -> Iterator[str]:
    if (trial.out / "submission.csv").exists():
        yield "there is a submission that this execution did not write"


def _read_by_the_evaluator(trial: Trial) -> Iterator[str]:
    """Yield what goes wrong when the evaluator reads what is no table: it must say so, soon, and do nothing else."""
    import time

    from bot.evaluation.scoring.prediction_file import read_submission
    from state.errors import InvalidSubmission
    from tests.bot.evaluation.parts import card

    began = time.monotonic()
    try:
        read_submission(trial.outcome.files["submission.csv"], trial.place / "view" / "sample_submission.csv", card())
        yield "the evaluator took it for a submission"
    except InvalidSubmission:
        pass
    if time.monotonic() - began > 5:
        yield "the evaluator read for more than 5 seconds"


SUBMISSIONS = (
    Attack(
        "link-to-the-answers",
        "Its submission is a link to the hidden answers on the host.",
        """
        attempt("link", os.symlink, HINTS["files"]["answers"], "submission.csv")
        """,
        {"link": "got"},
        notes="submission.csv was not kept: it is a symbolic link",
        host=_no_submission,
        reduced=True,
    ),
    Attack(
        "link-to-a-device",
        "Its submission is a link to a file without an end.",
        """
        attempt("link", os.symlink, "/dev/zero", "submission.csv")
        """,
        {"link": "got"},
        notes="it is a symbolic link",
    ),
    Attack(
        "link-in-a-chain",
        "Its submission is a link to a link to a file of the host by way of /proc.",
        """
        os.symlink("/proc/1/root/etc/shadow", "second")
        attempt("link", os.symlink, "second", "submission.csv")
        """,
        {"link": "got"},
        notes="it is a symbolic link",
    ),
    Attack(
        "hard-link",
        "Its submission is a second name of another file.",
        """
        write("other")
        attempt("link", os.link, "other", "submission.csv")
        """,
        {"link": "got"},
        notes="it is a hard link",
    ),
    Attack(
        "fifo",
        "Its submission is a FIFO, on which a reader would wait for ever.",
        """
        attempt("fifo", os.mkfifo, "submission.csv")
        """,
        {"fifo": "got"},
        notes="it is a FIFO, not a regular file",
        reduced=True,
    ),
    Attack(
        "socket",
        "Its submission is a socket.",
        """
        attempt("socket", socket.socket(socket.AF_UNIX).bind, "submission.csv")
        """,
        {"socket": "got"},
        notes="it is a socket, not a regular file",
    ),
    Attack(
        "folder",
        "Its submission is a folder with a submission in it.",
        """
        os.mkdir("submission.csv")
        attempt("file", write, "submission.csv/submission.csv")
        """,
        {"file": "got"},
        notes="it is a folder, not a regular file",
    ),
    Attack(
        "device",
        "Its submission is a device.",
        """
        attempt("device", os.mknod, "submission.csv", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        """,
        {"device": "EPERM"},
        host=_no_submission,
    ),
    Attack(
        "two-gigabytes-sparse",
        "Its submission says that it has two gigabytes, and takes no room.",
        """
        with open("submission.csv", "wb") as file:
            file.truncate(2_000_000_000)
        say("sparse", "made")
        """,
        {"sparse": "made"},
        limits={"written_bytes": 2_000_000_000},
        notes="bytes; the limit is",
    ),
    Attack(
        "two-gigabytes-real",
        "Its submission has two gigabytes, and takes them.",
        """
        descriptor = os.open("submission.csv", os.O_CREAT | os.O_WRONLY)
        os.posix_fallocate(descriptor, 0, 2_000_000_000)
        say("real", "made")
        """,
        {"real": "made"},
        ends="finished disk_limit",
        limits={"written_bytes": 2_000_000_000},
        notes="bytes; the limit is|wrote more than",
    ),
    Attack(
        "zip-bomb",
        "Its submission is an archive of a thousand times its size.",
        """
        import zipfile
        with zipfile.ZipFile("submission.csv", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("submission.csv", bytes(100_000_000))
        say("bomb", "made")
        """,
        {"bomb": "made"},
        kept=("submission.csv",),
        host=_read_by_the_evaluator,
    ),
    Attack(
        "one-endless-line",
        "Its submission is one line of ten million fields, and a quote that is never closed.",
        """
        write("submission.csv", b"," * 10_000_000 + b'"' + b"x" * 1_000_000)
        say("line", "made")
        """,
        {"line": "made"},
        kept=("submission.csv",),
        host=_read_by_the_evaluator,
    ),
    Attack(
        "pickle",
        "Its submission is a pickle that runs code when somebody reads it, and so are the files beside it.",
        """
        import pickle
        class Trap:
            def __reduce__(self):
                return os.system, (f"touch {os.path.dirname(HINTS['files']['home'])}/hostile-ran /tmp/hostile-ran",)
        for name in ("submission.csv", "model.pkl", "validation_predictions.csv", "submission.csv.pkl"):
            write(name, pickle.dumps(Trap()))
        write("sitecustomize.py", b"import os; os.system('touch /tmp/hostile-ran')")
        write("conftest.py", b"import os; os.system('touch /tmp/hostile-ran')")
        say("trap", "set")
        """,
        {"trap": "set"},
        kept=("submission.csv",),
        host=_read_by_the_evaluator,
    ),
    Attack(
        "older-file",
        "It writes nothing, where an earlier execution has left a submission.",
        """
        say("nothing", "yes")
        """,
        {"nothing": "yes"},
        older={"submission.csv": "id,y\n1,0\n2,0\n", "log.txt": "an older log\n"},
        host=_no_submission,
        reduced=True,
    ),
    Attack(
        "swapped-meanwhile",
        "A process that it leaves behind swaps the submission for a link to the answers and back, without end.",
        f"""
        answers = HINTS["files"]["answers"]
        write("plain", b"{_PREDICTIONS}")
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                while True:
                    os.symlink(answers, "link")
                    os.replace("link", "submission.csv")
                    write("again", b"{_PREDICTIONS}")
                    os.replace("again", "submission.csv")
            os._exit(0)
        os.wait()
        while not os.path.lexists("submission.csv"):
            time.sleep(0.01)
        say("swapping", "yes")
        """,
        {"swapping": "yes"},
        kept=None,
        host=_plain_or_none,
    ),
    Attack(
        "odd-names",
        "Files named with dots, line ends, control characters, options, commands and bytes that are no text.",
        f"""
        names = [b"..\\\\..\\\\x", b"a\\nb", b"\\x1b[2J", b"-rf", b"$(touch x)", b"\\xff\\xfe", b"x" * 255, b" ", b"..."]
        names += [b"a\\tb", b"submission.csv\\n", b"submission.csv ", b"%s%n", b"con", b"'; drop table node; --", b".partial"]
        for name in names:
            write(name)
        os.makedirs(b"\\xff/..sub/\\n")
        write("submission.csv", b"{_PREDICTIONS}")
        say("names", "made")
        """,
        {"names": "made"},
        kept=("submission.csv",),
        host=_unharmed_submission,
        reduced=True,
    ),
    Attack(
        "program",
        "Its submission is a program with the rights of its owner, for somebody on the host to start.",
        f"""
        write("submission.csv", b"{_PREDICTIONS}")
        attempt("mode", os.chmod, "submission.csv", 0o6777)
        """,
        {"mode": "got"},
        kept=("submission.csv",),
        host=_unharmed_submission,
    ),
    Attack(
        "unreadable",
        "Its submission and its folder are closed to readers.",
        f"""
        write("submission.csv", b"{_PREDICTIONS}")
        os.chmod("submission.csv", 0)
        say("closed", "yes")
        """,
        {"closed": "yes"},
        kept=None,
        host=_plain_or_none,
    ),
    Attack(
        "folder-gone",
        "It empties its working folder, renames what is mounted there and removes it.",
        """
        attempt("remove", os.rmdir, os.getcwd())
        attempt("rename", os.rename, os.getcwd(), os.getcwd() + "2")
        attempt("remove data", os.rmdir, "data")
        """,
        {"remove": "EBUSY EACCES EROFS ENOTEMPTY", "rename": "EBUSY EACCES EROFS", "remove data": "EBUSY EROFS"},
    ),
)
