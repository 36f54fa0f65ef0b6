"""A cohort that is opened for looking at, and a browser to look at it with."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isocenter
from isocenter.evaluation import evaluate
from isocenter.viewer import Session, make_server, open_session

GOLDEN = Path(__file__).parents[1] / "golden" / "dose" / "openkbp"
Opener = Callable[..., Session]


@pytest.fixture
def opened() -> Opener:
    """Evaluate and open a submission."""

    def opening(challenge: str, reference: Path, submission: Path, **more: Any) -> Session:
        which = isocenter.challenge(challenge)
        result = evaluate(which, reference=reference, submission=submission)
        return open_session(which, result, reference=reference, submission=submission, team=submission.stem, **more)

    return opening


@pytest.fixture
def session(opened: Opener, reference: Path, submission: Path) -> Session:
    """The four HECKTOR patients of all tests: the worst are CHUV002 and CHUV004."""
    return opened("hecktor2020", reference, submission)


@pytest.fixture
def doses(opened: Opener) -> Session:
    """Three patients of OpenKBP."""
    return opened("openkbp2020", GOLDEN / "reference", GOLDEN / "prediction")


@pytest.fixture
def served() -> Iterator[Callable[[Session], str]]:
    """The address of a session that is being served."""
    servers = []

    def serve(session: Session) -> str:
        server = make_server(session)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server.address

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


class Browser:
    """Chromium without a window, told what to do over a pipe (the DevTools protocol)."""

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
        self._target = ""
        self.events: list[dict[str, Any]] = []

    def fresh(self, folder: Path) -> None:
        """A new page, of which nothing is known from before; pictures of it are kept in a folder."""
        self._session, self.folder = None, folder
        if self._target:
            self.call("Target.closeTarget", targetId=self._target)
        self._target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        self.events = []
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        self.size(1400, 900)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
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
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def js(self, expression: str) -> Any:
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def open(
        self, address: str, *, until: str = "document.querySelector('#viewer')?.dataset.state === 'drawn'"
    ) -> None:
        self.call("Page.navigate", url=address)
        self.wait(until)

    def wait(self, expression: str) -> None:
        for _ in range(600):
            if self.call("Runtime.evaluate", expression=expression)["result"].get("value"):
                return
            time.sleep(0.1)
        pytest.fail(f"never came true: {expression}; {self.errors()}")

    def key(self, name: str) -> None:
        text = {"text": name} if len(name) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name)

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
        sent = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def errors(self) -> list[str]:
        thrown = [event for event in self.events if event.get("method") == "Runtime.exceptionThrown"]
        return [json.dumps(event["params"])[:500] for event in thrown]

    def close(self) -> None:
        self._session = None
        self.call("Browser.close")
        self._process.wait(60)
        os.close(self._to)
        os.close(self._from)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Required in CI; elsewhere its tests are skipped where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next((path for name in names if (path := shutil.which(name))), None)
    if program is None:
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("there is no Chromium, in which the page of `isocenter view` is tried out")
    opened = Browser(str(program), tmp_path_factory.mktemp("browser"))
    yield opened
    opened.close()


@pytest.fixture
def browser(chromium: Browser, tmp_path: Path) -> Browser:
    """A fresh page."""
    chromium.fresh(tmp_path)
    return chromium
