"""Past competitions that lie on a disk in other formats, made into snapshots."""
