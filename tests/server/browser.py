"""Chromium without a window, for all tests that look at pages: told what to do over a pipe (the DevTools protocol)."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

_CODES = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
_TEXTS = {"Enter": "\r"}
LOADED = "document.readyState === 'complete'"


@contextmanager
def opened(home: Path) -> Iterator[Browser]:
    """A browser with a profile of its own. Required in CI; elsewhere tests are skipped where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next((path for name in names if (path := shutil.which(name))), None)
    if program is None:
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("there is no Chromium, in which pages are tried out")
    browser = Browser(str(program), home)
    try:
        yield browser
    finally:
        browser.close()


class Browser:
    """See `opened`."""

    def __init__(self, program: str, home: Path) -> None:
        read, self._to = os.pipe()
        self._from, write = os.pipe()
        flags = ["--headless", "--no-sandbox", "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={home}"]
        drawing = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]  # WebGL2 on machines without a GPU
        # The browser listens on descriptor 3 and answers on 4.
        moved = f'exec 3<&{read} 4>&{write}; exec "$@"'
        command = ["bash", "-c", moved, "bash", program, *flags, *drawing, "about:blank"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, pass_fds=(read, write), **quiet)
        os.close(read)
        os.close(write)
        self._number, self._unread = 0, b""
        self._session: str | None = None
        self._context = ""
        self.events: list[dict[str, Any]] = []

    def fresh(self, folder: Path) -> None:
        """A new page in a new window of somebody who was never here; pictures of it are kept in a folder."""
        self._session, self.folder = None, folder
        if self._context:
            self.call("Target.disposeBrowserContext", browserContextId=self._context)
        self._context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=self._context)["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.events = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.size(1400, 900)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send an order, and wait for what came of it."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self.events.append(answer)
        assert "error" not in answer, (method, answer)
        return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            assert select.select([self._from], [], [], 120)[0], "the browser does not answer"
            self._unread += os.read(self._from, 1 << 20)
        message, _, self._unread = self._unread.partition(b"\0")
        return dict(json.loads(message))

    def size(self, width: int, height: int) -> None:
        """The window; below 600 pixels that of a phone."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def js(self, expression: str) -> Any:
        """What an expression comes to on the page."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def open(
        self, address: str, *, until: str = "document.querySelector('#viewer')?.dataset.state === 'drawn'"
    ) -> None:
        """Go to an address, and wait for something on the page."""
        self.call("Page.navigate", url=address)
        self.wait(until)

    def go(self, address: str) -> None:
        """Go to an address, and wait until all of it is there."""
        self.leaving()
        self.call("Page.navigate", url=address)
        self.arrived()

    def wait(self, expression: str) -> None:
        """Wait until an expression is true."""
        for _ in range(600):
            if self.call("Runtime.evaluate", expression=expression)["result"].get("value"):
                return
            time.sleep(0.1)
        pytest.fail(f"never came true: {expression}; {self.errors()}; {self.text()[:2000]}")

    def leaving(self) -> None:
        """Remember this page, before something is done that leads to another."""
        self.js("window.left = true")

    def arrived(self) -> None:
        """Wait for the other page."""
        self.wait(f"!window.left && {LOADED}")

    def press(self, words: str, within: str = "main") -> None:
        """Click the button, or the link, that says something, and wait for the page that it leads to."""
        self.leaving()
        self.js(
            f"[...document.querySelectorAll('{within} button'), ...document.querySelectorAll('{within} a')]"
            f".find((one) => one.innerText.trim() === {json.dumps(words)}).click()"
        )
        self.arrived()

    def fill(self, fields: dict[str, str]) -> None:
        """Type into fields, by their selectors; a choice is chosen, and a box or button of a choice ticked."""
        for selector, text in fields.items():
            kind = self.js(f"(({{tagName, type}}) => `${{tagName}} ${{type}}`)(document.querySelector({selector!r}))")
            assert kind is not None, selector
            if kind in ("INPUT checkbox", "INPUT radio"):
                self.js(f"document.querySelector({selector!r}).click()")
            elif kind.startswith("SELECT") or kind in ("INPUT datetime-local", "INPUT date"):
                self.js(f"document.querySelector({selector!r}).value = {json.dumps(text)}")
            else:
                self.js(f"document.querySelector({selector!r}).focus(); document.querySelector({selector!r}).select()")
                self.call("Input.insertText", text=text)

    def attach(self, selector: str, file: Path) -> None:
        """Choose a file."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", files=[str(file)], nodeId=node)

    def text(self) -> str:
        """What is written on the page."""
        return str(self.js("document.body?.innerText ?? ''"))

    def path(self) -> str:
        """The address of the page, without the site."""
        return str(self.js("location.pathname"))

    def key(self, name: str) -> None:
        """Press a key."""
        typed = _TEXTS.get(name, name if len(name) == 1 else "")
        text = {"text": typed} if typed else {}
        code = {"windowsVirtualKeyCode": _CODES[name]} if name in _CODES else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, **text, **code)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, **code)

    def picture(self, selector: str) -> np.ndarray:
        """What is seen of an element: rows, columns, red, green and blue."""
        import SimpleITK as sitk

        box = self.js(f"(({{x, y, width, height}}) => ({{x, y, width, height}}))(document.querySelector({selector!r})"
                      ".getBoundingClientRect())")  # fmt: skip
        data = self.call("Page.captureScreenshot", clip={**box, "scale": 1})["data"]
        path = self.folder / "seen.png"
        path.write_bytes(base64.b64decode(data))
        return sitk.GetArrayFromImage(sitk.ReadImage(str(path)))[..., :3].astype(int)

    def requests(self) -> list[str]:
        """The addresses that the page asked for."""
        sent = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def errors(self) -> list[str]:
        """What its scripts threw."""
        thrown = [event for event in self.events if event.get("method") == "Runtime.exceptionThrown"]
        return [json.dumps(event["params"])[:500] for event in thrown]

    def complaints(self) -> list[str]:
        """What the browser says of it: the policy of the site stopped something, or something was not found."""
        said = [event["params"]["entry"] for event in self.events if event.get("method") == "Log.entryAdded"]
        return [f"{one['text']} {one.get('url', '')}" for one in said if one["level"] in ("warning", "error")]

    def close(self) -> None:
        """End it."""
        self._session = None
        self.call("Browser.close")
        self._process.wait(60)
        os.close(self._to)
        os.close(self._from)
