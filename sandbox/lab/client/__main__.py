"""Run the command, wherever this folder lies and whatever it is called: `python FOLDER log ...`."""

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    folder = Path(__file__).resolve().parent
    sys.path[0] = str(folder.parent)
    sys.exit(importlib.import_module(f"{folder.name}.command").main())
