"""A cohort that is opened for looking at, and a browser to look at it with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from browser import opened as opened_browser

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


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with opened_browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def browser(chromium: Browser, tmp_path: Path) -> Browser:
    """A fresh page."""
    chromium.fresh(tmp_path)
    return chromium
