"""All attacks, by family: what the README counts."""

from tests.hostile.attack import Attack, Family
from tests.hostile.attacks import exhaustion, kernel, leftovers, network, reach

FAMILIES = (
    Family("processes, time and cores", exhaustion.PROCESSES, "", ""),
    Family("memory", exhaustion.MEMORY, "", ""),
    Family("disk and descriptors", exhaustion.DISK, "", ""),
    Family("output", exhaustion.OUTPUT, "", ""),
    Family("secrets and labels", reach.SECRETS, "", ""),
    Family("files of the host", reach.HOST, "", ""),
    Family("the view", reach.VIEW, "", ""),
    Family("network", network.NETWORK, "", ""),
    Family("rights, namespaces, other processes", kernel.RIGHTS, "", ""),
    Family("the kernel and the machine", kernel.KERNEL, "", ""),
    Family("what is left to be read", leftovers.SUBMISSIONS, "", ""),
)
ATTACKS: tuple[Attack, ...] = tuple(attack for family in FAMILIES for attack in family.attacks)
