"""The methods that show how the runs of published kernels went; kernels cannot be pushed to the stand-in."""

import json
from typing import TYPE_CHECKING

from bot.rehearsal.wire import Answer, Call, listed

if TYPE_CHECKING:
    from bot.rehearsal.site import Site


class Sessions:
    """Runs of kernels, all of which have long ended."""

    def __init__(self, site: "Site") -> None:
        self._site = site

    def status(self, call: Call) -> Answer:
        """GetKernelSessionStatus: of a version, or of the latest one."""
        self._site.notebooks.find(call)
        return {"status": "COMPLETE"}

    def output(self, call: Call) -> Answer:
        """ListKernelSessionOutput: a version's source, and its submission where the snapshot has it, by signed addresses."""
        version = self._site.notebooks.find(call)
        name = "__notebook__.ipynb" if version.kernel_type == "notebook" else "__script__.txt"
        contents = {name: version.source.encode()}
        if version.output is not None:
            contents[version.output.name] = version.output.read_bytes()
        files = []
        for name, content in contents.items():
            place = f"output/{version.ref}/v{version.number}/{name}"
            self._site.storage.add(place, content, version.at)
            files.append({"url": self._site.storage.link(place, call.base_url, call.now), "fileName": name})
        page, token = call.page(files)
        printed = f"{version.title}: what the run printed was not kept.\n"
        log = json.dumps([{"stream_name": "stdout", "time": 0.5, "data": printed}])
        return listed("files", page, token, log=log)
