"""The folders of answers that probes have left: ours from the stand-in site, and whatever is put beside them."""

from pathlib import Path

PROBED = Path(__file__).parents[1] / "probed"
FOLDERS = sorted(one for one in PROBED.iterdir() if one.is_dir())
EXAMPLE = PROBED / "stand-in"
