"""A real browser, headless, driven through its own protocol over two pipes: no driver, no port."""

import base64
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.needs import chromium

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe", "--hide-scrollbars"),
)
SECONDS = 20.0
"""Longest wait for anything."""


class Browser:
    """One tab."""

    def __init__(self, writing: int, reading: int) -> None:
        self._writing, self._reading, self._rest, self._number = writing, reading, b"", 0
        self.events: list[dict[str, Any]] = []
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol; events that come meanwhile are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                found: dict[str, Any] = answer["result"]
                return found
            self.events.append(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            self._rest += os.read(self._reading, 1 << 20)
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def open(self, url: str) -> None:
        """Go to a page, and wait until it is loaded."""
        self.call("Page.navigate", url=url)
        self.until(lambda: self.run("location.href !== 'about:blank' && document.readyState === 'complete'"))

    def run(self, script: str) -> Any:
        """Return what a script in the page comes to."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def until(self, holds: Callable[[], Any]) -> Any:
        """Wait until something holds, and return it."""
        end = time.monotonic() + SECONDS
        while not (found := holds()):
            assert time.monotonic() < end, "it never held"
            time.sleep(0.05)
        return found

    def press(self, key: str, text: str = "") -> None:
        """Press a key, such as `Tab`."""
        code = {"Tab": 9, "Enter": 13}.get(key, 0)
        for kind in ("keyDown", "keyUp"):
            given = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **given)

    def shape(self, width: int, height: int, *, dark: bool = False) -> None:
        """Set the size of the window, and whether its owner likes it dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        value = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def picture(self, file: Path) -> None:
        """Write a picture of the whole page."""
        shown = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shown["data"]))

    def complaints(self) -> list[str]:
        """Return what went to the console, and what the browser refused to load."""
        self.run("1")
        texts = []
        for event in self.events:
            params = event.get("params", {})
            if event["method"] == "Runtime.consoleAPICalled":
                texts.append(str(params["args"]))
            if event["method"] == "Log.entryAdded":
                texts.append(params["entry"]["text"])
            if event["method"] == "Runtime.exceptionThrown":
                texts.append(str(params["exceptionDetails"]))
        return texts

    def asked(self) -> list[str]:
        """Return the addresses that were asked for."""
        return [one["params"]["request"]["url"] for one in self.events if one["method"] == "Network.requestWillBeSent"]


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start a browser with a fresh profile; it ends with the context."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()

    def as_three_and_four() -> None:
        commands, answers = os.dup(theirs_in), os.dup(theirs_out)
        os.dup2(commands, 3)
        os.dup2(answers, 4)

    inherited = (3, 4, theirs_in, theirs_out)
    command = [chromium(), *FLAGS, f"--user-data-dir={profile}"]
    process = subprocess.Popen(
        command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=inherited, preexec_fn=as_three_and_four
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Browser(ours_out, ours_in)
    finally:
        process.terminate()
        process.wait(10)
        os.close(ours_out)
        os.close(ours_in)
