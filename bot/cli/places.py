"""Files and folders that cannot be used, in one sentence."""

import errno
import os

_DO = {
    errno.EACCES: "let this user read and write it, or name another place",
    errno.EPERM: "let this user read and write it, or name another place",
    errno.EROFS: "name a place that can be written to",
    errno.ENOTDIR: "a part of the path is a file: name another place",
    errno.EEXIST: "name another place, or move what is there",
    errno.EISDIR: "name a file in it",
    errno.ENOENT: "create it, or name another place",
    errno.ENOSPC: "free some space, or name a place on another disk",
    errno.EDQUOT: "free some space, or name a place on another disk",
    errno.ENAMETOOLONG: "name a shorter path",
    errno.ELOOP: "its links lead in a circle: name another place",
}
"""What a person can do about a place, by the system's error number."""


def of_place(error: OSError) -> str | None:
    """Return what is wrong with the file or folder that an error names, and what to do; None for any other error."""
    remedy = _DO.get(error.errno or 0)
    if remedy is None or not isinstance(error.filename, str | bytes):
        return None
    return f"{os.fsdecode(error.filename)} cannot be used ({error.strerror}): {remedy}"
