"""Files and folders that cannot be used, in one sentence."""

import errno
import os

_DO = {
    errno.EACCES: "make it readable and writable for this user, or choose another path",
    errno.EPERM: "make it readable and writable for this user, or choose another path",
    errno.EROFS: "choose a writable path",
    errno.ENOTDIR: "part of the path is a file; choose another path",
    errno.EEXIST: "choose another path, or move the existing file",
    errno.EISDIR: "choose a file in that folder",
    errno.ENOENT: "create it, or choose another path",
    errno.ENOSPC: "free some space, or choose a path on another disk",
    errno.EDQUOT: "free some space, or choose a path on another disk",
    errno.ENAMETOOLONG: "choose a shorter path",
    errno.ELOOP: "its symbolic links form a loop; choose another path",
}
"""What the user can do about a place, by the system's error number."""


def of_place(error: OSError) -> str | None:
    """Return what is wrong with the file or folder that an error names, and what to do; None for any other error."""
    remedy = _DO.get(error.errno or 0)
    if remedy is None or not isinstance(error.filename, str | bytes):
        return None
    return f"cannot use {os.fsdecode(error.filename)} ({error.strerror}): {remedy}"
