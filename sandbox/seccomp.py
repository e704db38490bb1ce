"""The system call filter: it denies calls that no data science script needs, and that kernels were attacked through."""

import errno
import socket
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

_DENIED = (
    # Kernel surfaces with a long history of holes.
    *("userfaultfd", "bpf", "perf_event_open", "vmsplice", "lookup_dcookie", "kcmp", "fanotify_init"),
    # The caller's keys.
    *("keyctl", "add_key", "request_key"),
    # Other processes, the sandbox's own first one among them.
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "process_madvise"),
    # Namespaces and mounts.
    *("unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen"),
    *("fsconfig", "fsmount", "fspick", "mount_setattr", "open_by_handle_at", "name_to_handle_at"),
    # The machine.
    *("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff"),
    *("acct", "quotactl", "syslog", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "iopl", "ioperm"),
    *("vhangup", "sethostname", "setdomainname", "move_pages", "migrate_pages", "uselib", "ustat", "sysfs", "_sysctl"),
    # Memory that nobody counts.
    *("shmget", "memfd_secret", "msgget"),
)
_ABSENT = ("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3")
"""Refused as unknown: libraries then fall back (glibc's threads: to clone, whose flags a filter can see)."""
_SHARED_ANONYMOUS = 0x21
"""MAP_SHARED and MAP_ANONYMOUS. Like memfd_create, it makes memory that stays while no process holds it in sight, in a
socket or unmapped in part. Libraries use /dev/shm, which is counted whole."""

_PINNED = ("sched_setaffinity",)
"""Without effect, though they report success: a script stays on its leased cores, and libraries do not fail."""
_IDLE = ("sched_setscheduler", "sched_setattr", "sched_setparam", "setpriority", "setsid")
"""The same for an idle script, which keeps its priority; a new session would weigh as much as a command's."""

_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16)
"""Sockets that may be made; 16 is netlink, by which a program lists the (only) interface."""
_LAST_FAMILY = 63
_NEW_NAMESPACES = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: typing into a terminal."""


@lru_cache
def seccomp_program(*, shared_memory: bool = False, pinned: bool = True, idle: bool = False) -> bytes | None:
    """Return the compiled filter for this machine's architecture, or None if libseccomp is missing.

    `shared_memory` allows memory that nobody can count, which CUDA needs. `pinned` keeps processes on the cores, `idle`
    at the priority and in the session, that they were started on.
    """
    pyseccomp = _library()
    if pyseccomp is None:
        return None
    # Foreign architectures' calls (32 bit, x32) end the process: libseccomp's own default.
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    _refuse(rules, pyseccomp, _DENIED, errno.EPERM)
    _refuse(rules, pyseccomp, _ABSENT, errno.ENOSYS)
    if pinned:
        _refuse(rules, pyseccomp, _PINNED, 0)
    if idle:
        _refuse(rules, pyseccomp, _IDLE, 0)
    if not shared_memory:
        shared = pyseccomp.Arg(3, pyseccomp.MASKED_EQ, _SHARED_ANONYMOUS, _SHARED_ANONYMOUS)
        rules.add_rule(pyseccomp.ERRNO(errno.EPERM), "mmap", shared)
        rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "memfd_create")
    _deny_arguments(rules, pyseccomp)
    return _compiled(rules)


@lru_cache
def pinning_program() -> bytes | None:
    """Return a filter that only keeps processes on their cores, for who was let choose them; none without libseccomp."""
    pyseccomp = _library()
    if pyseccomp is None:
        return None
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    _refuse(rules, pyseccomp, _PINNED, 0)
    return _compiled(rules)


def _library() -> Any:
    try:
        import pyseccomp  # it loads a shared library, which may be absent
    except (ImportError, RuntimeError):
        return None
    return pyseccomp


def _compiled(rules: Any) -> bytes:
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _refuse(rules: Any, pyseccomp: Any, names: Iterable[str], error: int) -> None:
    for name in names:
        try:
            number = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)
        except ValueError:
            continue  # another architecture's, or newer than this libseccomp
        if number >= 0:
            rules.add_rule(pyseccomp.ERRNO(error), number)


def _deny_arguments(rules: Any, pyseccomp: Any) -> None:
    no_family = pyseccomp.ERRNO(errno.EAFNOSUPPORT)
    for call in ("socket", "socketpair"):
        for family in set(range(_LAST_FAMILY + 1)) - set(_FAMILIES):
            rules.add_rule(no_family, call, pyseccomp.Arg(0, pyseccomp.EQ, family))
        rules.add_rule(no_family, call, pyseccomp.Arg(0, pyseccomp.GT, _LAST_FAMILY))
    for flag in _NEW_NAMESPACES:
        rules.add_rule(pyseccomp.ERRNO(errno.EPERM), "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
    for request in _TERMINAL_INPUT:
        argument = pyseccomp.Arg(1, pyseccomp.MASKED_EQ, 0xFFFFFFFF, request)
        rules.add_rule(pyseccomp.ERRNO(errno.EPERM), "ioctl", argument)
