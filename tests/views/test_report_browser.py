"""The page of a run in a real browser: it asks for nothing, complains of nothing, and what tasks wrote does not run."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stories.project import Project
from stories.report_pages import hostile_run

BROWSER = Path("/usr/bin/chromium")
WITHIN_S = 60.0
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--remote-debugging-pipe", "--hide-scrollbars",
)  # fmt: skip

pytestmark = pytest.mark.skipif(not BROWSER.exists(), reason=f"{BROWSER} is not installed")


_WITH_PIPES = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """Chromium, spoken to over a pair of pipes in its debugging protocol: JSON messages that end with a NUL."""

    def __init__(self, profile: Path) -> None:
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _WITH_PIPES, str(to_browser), str(from_browser), str(BROWSER), *FLAGS,
             f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        self._number = 0
        self._rest = b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        self._open()

    def _open(self) -> None:
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for area in ("Page", "Network", "Log", "Runtime"):
            self.ask(f"{area}.enable")

    def ask(self, method: str, **given: Any) -> dict[str, Any]:
        """Say something and wait for the answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": given}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next(method)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return dict(answer["result"])
            self.events.append(answer)

    def _next(self, waits_for: str) -> dict[str, Any]:
        end = time.monotonic() + WITHIN_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"the browser did not answer {waits_for} within {WITHIN_S} s"
            piece = os.read(self._read, 1 << 20)
            assert piece, "the browser has gone"
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))

    def show(self, page: Path) -> None:
        """Load a page, and wait until it was drawn."""
        self.load(page)
        self.value("new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(1), 50)))")

    def load(self, page: Path) -> None:
        """Load a page, and wait until it and what it would load are there."""
        self.events.clear()
        self.ask("Page.navigate", url=page.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next("the end of loading"))

    def value(self, expression: str) -> Any:
        """What an expression gives in the page."""
        said = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    def picture(self, file: Path, *, whole: bool = True) -> None:
        """A picture of the page, for looking at it."""
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(shot["data"]))

    def methods(self, *names: str) -> list[dict[str, Any]]:
        """The events of those names since the page was asked for."""
        return [event["params"] for event in self.events if event.get("method") in names]

    def close(self) -> None:
        """End the browser."""
        try:
            self._session = None
            self.ask("Browser.close")
            self.process.wait(10)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait(10)
        os.close(self._read)
        os.close(self._write)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    project = Project(tmp_path_factory.mktemp("hostile"))
    run = hostile_run(project)
    project.onward("report", run).check()
    yield project.root / f"{run}.html"
    project.finish()


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    project = Project(tmp_path_factory.mktemp("many"))
    project.workflow("""
        task:
          - each:
              loop: {as: n, for-each: {command: "seq 600"}, limit: 8}
              on-failure: continue
              run: ["/bin/sh", "-c", "test $n != 7 && echo $n"]
    """)
    project.onward("run", "w.yaml", "--id", "m1", within_s=100).check()
    project.onward("report", "m1").check()
    yield project.root / "m1.html"
    project.finish()


def test_the_page_asks_for_nothing_and_nothing_in_it_runs_or_complains(browser: Browser, hostile: Path) -> None:
    browser.show(hostile)
    assert browser.value("window.owned") is None
    browser.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    browser.value("document.querySelectorAll('*').forEach((one) => one.dispatchEvent(new MouseEvent('mouseover')))")
    browser.value("new Promise((done) => setTimeout(() => done(1), 100))")
    assert browser.value("window.owned") is None
    assert browser.value("document.images.length") == 0
    asked = [event["request"]["url"] for event in browser.methods("Network.requestWillBeSent")]
    assert asked == [hostile.as_uri()]
    assert browser.methods("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown") == []


def test_the_policy_stops_a_script_that_got_in_all_the_same(browser: Browser, hostile: Path) -> None:
    planted = hostile.with_name("planted.html")
    text = hostile.read_text("utf-8").replace(
        '<main id="main">', "<main><script>window.owned = 1</script><img src=x>", 1
    )
    planted.write_text(text, "utf-8")
    browser.show(planted)
    assert browser.value("window.owned") is None
    refused = [event["entry"]["text"] for event in browser.methods("Log.entryAdded")]
    assert any("script-src" in one for one in refused)
    assert any("img-src" in one or "default-src" in one for one in refused)


def test_a_row_opens_by_a_click_and_by_its_address(browser: Browser, hostile: Path) -> None:
    browser.show(hostile)
    row = "document.querySelector('#tasks tbody')"
    assert browser.value(f"{row}.querySelector('details').open") is False
    browser.value(f"{row}.rows[0].cells[2].click()")
    assert browser.value(f"{row}.querySelector('details').open") is True
    assert browser.value(f"{row}.querySelector('a').getAttribute('aria-expanded')") == "true"
    browser.value(f"{row}.querySelector('a').click()")
    assert browser.value(f"{row}.querySelector('details').open") is False
    browser.value(f"location.hash = {row}.querySelector('a').hash")
    browser.value("new Promise((done) => setTimeout(() => done(1), 50))")
    assert browser.value(f"{row}.querySelector('details').open") is True


SHOWN = "[...document.querySelectorAll('#tasks tbody')].filter((body) => body.offsetHeight).length"
FIRST = "[...document.querySelectorAll('#tasks tbody')].find((body) => body.offsetHeight).rows[0].cells[1].innerText"


def test_long_tables_can_be_searched_filtered_sorted_and_shown_whole(browser: Browser, many: Path) -> None:
    browser.show(many)
    assert browser.value(SHOWN) == 500
    browser.value("document.querySelector('#tasks').closest('section').querySelector('.chip[data-s=failed]').click()")
    assert browser.value(SHOWN) == 1
    assert browser.value(FIRST).startswith("each[7]")
    browser.value("document.querySelector('#tasks').closest('section').querySelector('.chip[data-s=failed]').click()")
    browser.value("document.querySelector('.rest button').click()")
    assert browser.value(SHOWN) == 600
    typed = (
        "(() => { const q = document.querySelector('.q'); q.value = '[59'; q.dispatchEvent(new Event('input')); })()"
    )
    browser.value(typed)
    browser.value("new Promise((done) => setTimeout(() => done(1), 150))")
    assert browser.value(SHOWN) == 11
    browser.value("document.querySelector('#tasks .c-started button').click()")
    browser.value("document.querySelector('#tasks .c-started button').click()")
    assert browser.value("document.querySelector('#tasks .c-started').getAttribute('aria-sort')") == "descending"
    assert browser.value(SHOWN) == 11
    starts = "[...document.querySelectorAll('#tasks tbody')].map((body) => +body.rows[0].cells[4].dataset.v)"
    found = browser.value(starts)
    assert found == sorted(found, reverse=True)


def test_without_a_script_everything_is_there_and_details_open(browser: Browser, many: Path) -> None:
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.load(many)
        root = int(browser.ask("DOM.getDocument", depth=0)["root"]["nodeId"])
        rows = browser.ask("DOM.querySelectorAll", nodeId=root, selector="#tasks tbody")["nodeIds"]
        assert len(rows) == 600
        assert browser.ask("DOM.getBoxModel", nodeId=rows[599])["model"]["height"] > 20
        assert browser.ask("DOM.querySelectorAll", nodeId=root, selector="html.js")["nodeIds"] == []
        (summary,) = browser.ask("DOM.querySelectorAll", nodeId=rows[0], selector="summary")["nodeIds"]
        assert browser.ask("DOM.getBoxModel", nodeId=summary)["model"]["height"] > 5
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_no_width_makes_the_page_scroll_to_the_side(browser: Browser, hostile: Path, width: int) -> None:
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 700)
    browser.show(hostile)
    browser.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert browser.value("document.documentElement.scrollWidth") <= width
    browser.ask("Emulation.clearDeviceMetricsOverride")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(browser: Browser, hostile: Path, scheme: str) -> None:
    browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.show(hostile)
    browser.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert browser.value(CONTRAST) == []


CONTRAST = r"""
(() => {
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, index) => sum + v * [0.2126, 0.7152, 0.0722][index], 0);
  const ground = (element) => {
    const above = [];
    for (let one = element; one; one = one.parentElement) {
      const [r, g, b, a = 1] = numbers(getComputedStyle(one).backgroundColor);
      if (a > 0) above.push([r, g, b, a]);
      if (a === 1) break;
    }
    return above.reverse().reduce((under, [r, g, b, a]) => [r, g, b].map((v, i) => v * a + under[i] * (1 - a)),
      [255, 255, 255]);
  };
  const bad = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.getClientRects().length) continue;
    if (element.closest("script, style, svg, .vh, .skip")) continue;
    const style = getComputedStyle(element);
    if (parseFloat(style.fontSize) === 0) continue;
    const one = light(numbers(style.color)), other = light(ground(element));
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) bad.add(`${element.tagName}.${element.className} ${style.color} ${ratio.toFixed(2)}`);
  }
  return [...bad];
})()
"""
