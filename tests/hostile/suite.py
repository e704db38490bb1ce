"""All attacks, by family: what the documents count."""

from tests.hostile.attack import Attack, Family
from tests.hostile.attacks import disk, experiments, kernel, lab, leftovers, memory, network, output, processes, reach

FAMILIES = (
    Family(
        "processes, time and cores",
        processes.PROCESSES,
        "held; a script can kill and stop only its own processes, and cores are held by the system call filter",
        "held by the control group",
    ),
    Family(
        "memory",
        memory.MEMORY,
        "each process is held by the kernel; the sum is measured, so a burst goes over, and **the kernel's memory for pipes and "
        "sockets is not counted**; it ends when the machine has hardly any left",
        "held by the control group, the kernel's memory included",
    ),
    Family(
        "disk and descriptors",
        disk.DISK,
        "a single file is held by the kernel; the sum is measured, so a burst goes over, and **files without a name that lie in "
        "a socket are not counted** while it runs; it ends when the disk is nearly full",
        "the same",
    ),
    Family("output", output.OUTPUT, "read to its end, kept to its cap, believed in nothing", "the same"),
    Family("secrets and labels", reach.SECRETS, "not there", "not there"),
    Family(
        "files of the host",
        reach.HOST,
        "**programs and libraries of the machine can be read**, and the kernel's settings; nothing can be written",
        "the image's own files can be read, and the kernel's settings; nothing can be written",
    ),
    Family("the view", reach.VIEW, "read-only", "read-only"),
    Family(
        "network",
        network.NETWORK,
        "only a loopback of its own",
        "only a loopback of its own; **an engine before Docker 23 lets it open sockets to the hypervisor** (vsock)",
    ),
    Family(
        "rights, namespaces, other processes",
        kernel.RIGHTS,
        "refused; a script can change its own first process, which has no more rights than it has",
        "refused; a script may trace its own processes",
    ),
    Family(
        "the kernel and the machine",
        kernel.KERNEL,
        "refused by the filter; **the kernel is shared, its holes are open** but for the filtered calls",
        "the same with the engine's filter, **which before Docker 25 lets io_uring through**, unless the runtime is runsc",
    ),
    Family(
        "files that a script leaves", leftovers.SUBMISSIONS, "only plain files of a bounded size are read", "the same"
    ),
    Family(
        "a lab's socket",
        lab.SOCKET,
        "bounded in connections, descriptors, memory and time; honest clients are answered meanwhile, **if later**",
        "the same",
    ),
    Family(
        "experiments of a lab",
        experiments.EXPERIMENTS,
        "bounded before they are read; names are plain, files are copies of ours, and arrays are read by the evaluator alone",
        "the same",
    ),
    Family(
        "a lab from inside",
        lab.INSIDE,
        "held, and the next command works; **a lab can end itself** by ending its agent: it is opened again with its files",
        "the same",
    ),
)
ATTACKS: tuple[Attack, ...] = tuple(attack for family in FAMILIES for attack in family.attacks)
