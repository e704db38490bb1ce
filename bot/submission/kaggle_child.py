"""The process in which the `kaggle` package submits one file, and which says on a descriptor what came of it."""

import ctypes
import json
import os
import signal
import sys
from typing import Any

__all__: list[str] = []

_PR_SET_PDEATHSIG = 1
_MOST_READ = 20_000


def main() -> None:
    """Do what the first argument says: {file, tag, competition, parent, to}."""
    order = json.loads(sys.argv[1])
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != order["parent"]:
        return  # who wanted this is gone: nobody would hear of it
    with os.fdopen(order["to"], "w", encoding="utf-8") as result:
        json.dump(_submit(order["file"], order["tag"], order["competition"]), result)


def _submit(file: str, tag: str, competition: str) -> dict[str, Any]:
    # Here: it authenticates itself while it is imported, and may end the process.
    try:
        from kaggle.api.kaggle_api_extended import KaggleApi
        from requests import HTTPError
    except SystemExit as error:
        return {"status": 401, "body": f"the kaggle package ended with {error.code} while it was imported"}
    try:
        api = KaggleApi()
        api.authenticate()
        answer = api.competition_submit(file, tag, competition, quiet=True)
    except SystemExit as error:
        return {"status": 401, "body": f"the kaggle package ended with {error.code}"}
    except HTTPError as error:
        if error.response is None:
            return {"ref": 0, "message": str(error)}
        return {"status": error.response.status_code, "body": error.response.text[:_MOST_READ]}
    return {"ref": int(answer.ref or 0), "message": str(answer.message or "")}


if __name__ == "__main__":
    main()
