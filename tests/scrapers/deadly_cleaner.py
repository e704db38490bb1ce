"""A cleaner that some texts end: as the real one, but it dies of `DIE`, hangs at `HANG`, and fails at `FAIL`."""

import os
import sys
import time
from typing import Any

from scrapers.posts import cleaner_process

_read = cleaner_process.text_as


def text_as(asked: dict[str, Any]) -> str:
    """Read a text, or come to its end."""
    text = asked["text"]
    if "DIE" in text:
        os.abort()
    if "HANG" in text:
        time.sleep(3600)
    if "FAIL" in text:
        raise RuntimeError("this text is odd")
    return _read(asked)


if __name__ == "__main__":
    cleaner_process.serve(int(sys.argv[1]), int(sys.argv[2]), text_as)
