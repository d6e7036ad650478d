"""Headless Chromium by its DevTools protocol: JSON, a NUL after each, over file descriptors 3 and 4.

Source: chromedevtools.github.io/devtools-protocol; chromium content/browser/devtools/devtools_pipe_handler.cc.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE_S = 60.0
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--hide-scrollbars", "--remote-debugging-pipe")  # fmt: skip
BAD = {"error", "assert"}


class Tab:
    """One page. `said` are errors of its console, exceptions, and requests that failed; `asked` what it requested."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from, self._rest, self._number = to_browser, from_browser, b"", 0
        self._session = ""
        self.said: list[str] = []
        self.asked: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def show(self, page: Path, width: int, height: int = 800, *, phone: bool = False) -> None:
        """Opens a file in a window of this size, in CSS pixels, and waits until it is loaded."""
        scale = 2 if phone else 1
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=phone
        )
        self._call("Page.navigate", url=page.resolve().as_uri())
        self._until("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        return self._call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def print(self) -> bytes:
        """The page on A4, as a PDF."""
        return base64.b64decode(self._call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])

    def emulate(self, media: str) -> None:
        """`print` or `screen`."""
        self._call("Emulation.setEmulatedMedia", media=media)

    def picture(self) -> bytes:
        """What the window shows, as a PNG."""
        return base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])

    def _call(self, method: str, **params: object) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        answer = self._until(number=self._number)
        assert "error" not in answer, (method, answer)
        return dict(answer["result"])

    def _until(self, event: str = "", number: int = 0) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE_S
        while True:
            message = self._read(end)
            self._note(message)
            if (number and message.get("id") == number) or (event and message.get("method") == event):
                return message

    def _read(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"Chromium gave no answer within {PATIENCE_S:.0f} s"
            more = os.read(self._from, 1 << 20)
            assert more, "Chromium ended"
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(text))

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params") or {}
        match message.get("method"):
            case "Runtime.consoleAPICalled" if params["type"] in BAD:
                self.said.append(json.dumps(params["args"]))
            case "Runtime.exceptionThrown":
                self.said.append(json.dumps(params["exceptionDetails"]))
            case "Log.entryAdded" if params["entry"]["level"] in {"error", "warning"}:
                self.said.append(str(params["entry"]["text"]))
            case "Network.requestWillBeSent":
                self.asked.append(str(params["request"]["url"]))
            case "Network.loadingFailed":
                self.said.append(str(params["errorText"]))


@contextmanager
def chromium(profile: Path) -> Iterator[Tab]:
    """A tab of a browser of its own, ended at the end."""
    (theirs, to_browser), (from_browser, mine) = os.pipe(), os.pipe()

    def descriptors() -> None:
        kept = [fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (theirs, mine)]
        os.dup2(kept[0], 3)
        os.dup2(kept[1], 4)

    browser = subprocess.Popen(
        ("chromium", *FLAGS, f"--user-data-dir={profile}"),
        preexec_fn=descriptors,
        pass_fds=(3, 4),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    os.close(mine)
    try:
        yield Tab(to_browser, from_browser)
    finally:
        browser.terminate()
        browser.wait(PATIENCE_S)
        os.close(to_browser)
        os.close(from_browser)
