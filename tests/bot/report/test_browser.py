"""The page in a real browser: no error, no request, nothing of a hostile text is run."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bot.report.page import write_report
from tests.bot.report.finished_runs import FakeRun, write_run
from tests.browser import browser
from tests.needs import chromium

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--enable-logging=stderr", "--dump-dom"),
)
HOSTILE = "<script>document.title='taken'</script></pre></svg><img src=/loaded onerror=\"console.error('run')\">"
CONTROL = "<!doctype html><title>control</title><img src=/asked><script>console.error('heard')</script>"


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve a folder on loopback; yields its address and the paths that were asked for."""
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def opened(url: str, profile: Path) -> tuple[str, list[str]]:
    """Open a page; returns its document after loading, and what went to the console."""
    command = [chromium(), *FLAGS, f"--user-data-dir={profile}", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.integration
def test_a_hostile_page_is_quiet_in_a_browser(tmp_path: Path):
    folder = write_run(tmp_path / "run", FakeRun(nodes=20, hostile=HOSTILE))
    write_report(folder)
    (folder / "control.html").write_text(CONTROL)
    with served(folder) as (address, asked):
        document, messages = opened(f"{address}/report.html", tmp_path / "one")
        assert set(asked) == {"/report.html"}
        assert messages == []
        assert "<title>Wine &lt;script&gt;" in document
        assert document.count('class="box ') == 20
        _, heard = opened(f"{address}/control.html", tmp_path / "two")
    assert any("heard" in line for line in heard), "an error would have been noticed"
    assert "/asked" in asked, "a request would have been noticed"


@pytest.mark.integration
def test_it_fits_a_phone_in_three_screens_and_its_tables_have_no_tall_rows(tmp_path: Path) -> None:
    write_report(folder := write_run(tmp_path / "run", FakeRun(nodes=20)))
    with browser(tmp_path / "profile") as tab:
        tab.shape(390, 844)
        tab.open((folder / "report.html").as_uri())
        assert tab.run("document.documentElement.scrollWidth") <= 390
        assert tab.run("document.documentElement.scrollHeight") <= 3 * 844
        tab.run("document.querySelectorAll('section > details').forEach(one => one.open = true)")
        heights = "[...document.querySelectorAll('#nodes tr, #spent tr')].map(row => row.offsetHeight)"
        assert max(tab.run(heights)) < 120, "a column of text is a word wide"
