"""The workers of a site: processes that `isocenter serve` starts, starts again when they die, and ends with itself.

A worker looks every second whether its parent still lives, so that a server that was killed leaves none behind. Ctrl-C
reaches the whole process group; workers of a server leave it to the server, which then tells them to stop.

Every worker gets a mark, with which its name ends. When it dies, the crew says which mark that was, so that what it had
is put back at once and does not wait until its lease is over.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

PARENT = "ISOCENTER_PARENT"
"""The variable by which a worker knows the process that it belongs to."""

MARK = "ISOCENTER_WORKER_MARK"
"""The variable by which a worker knows its mark."""

GRACE = 20.0
"""For how many seconds workers may finish what they do, or put it back."""

_SHORT = 60.0
_LONGEST = 60.0


@dataclass
class Hand:
    """A place in the crew: the process that fills it, its mark, and how long to wait before the next one does."""

    number: int
    process: subprocess.Popen[bytes]
    mark: str
    since: float
    delay: float = 1.0
    again: float | None = field(default=None)


class Crew:
    """So many workers, kept at that number by a thread until they are stopped.

    Parameters
    ----------
    died
        Is told the mark of every worker that ended otherwise than in order.
    """

    def __init__(
        self, count: int, command: Sequence[str], say: Callable[[str], None], died: Callable[[str], None]
    ) -> None:
        self._command = list(command)
        self._say, self._died = say, died
        self._ending = threading.Event()
        self._hands = [Hand(number, *self._start(), time.monotonic()) for number in range(1, count + 1)]
        self._watch = threading.Thread(target=self._keep, name="crew", daemon=True)
        self._watch.start()

    def _start(self) -> tuple[subprocess.Popen[bytes], str]:
        mark = secrets.token_hex(8)
        env = os.environ | {PARENT: str(os.getpid()), MARK: mark}
        return subprocess.Popen(self._command, stdin=subprocess.DEVNULL, env=env), mark  # noqa: S603 (our own program)

    def _keep(self) -> None:
        while not self._ending.wait(0.5):
            for hand in self._hands:
                self._look_after(hand, time.monotonic())

    def _look_after(self, hand: Hand, now: float) -> None:
        if hand.again is not None:
            if now >= hand.again and not self._ending.is_set():
                (hand.process, hand.mark), hand.since, hand.again = self._start(), now, None
            return
        code = hand.process.poll()
        if code is None:
            return
        if now - hand.since > _SHORT:
            hand.delay = 1.0
        self._say(f"Worker {hand.number} ended ({_how(code)}); another one starts in {hand.delay:.0f} s.")
        hand.again, hand.delay = now + hand.delay, min(_LONGEST, hand.delay * 2)
        if code:
            self._died(hand.mark)

    def stop(self, grace: float = GRACE) -> None:
        """Ask all to finish or put back what they have, wait for them, and end those that take longer than `grace`."""
        self._ending.set()
        self._watch.join()
        running = [hand.process for hand in self._hands if hand.process.poll() is None]
        for process in running:
            process.terminate()
        until = time.monotonic() + grace
        for process in running:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                self._say("A worker did not end in time and was stopped; its work is done again by another.")
                process.kill()
                process.wait()
        for hand in self._hands:
            if hand.again is None and hand.process.returncode:
                self._died(hand.mark)

    def kill(self) -> None:
        """End all at once; what they had is done again when its lease is over."""
        self._ending.set()
        for hand in self._hands:
            if hand.process.poll() is None:
                hand.process.kill()


def _how(code: int) -> str:
    return f"code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


def heed(stop: threading.Event) -> None:
    """Let `stop` be set when this worker is told to end, or its parent is no more; told twice, it ends at once."""

    def told(*_: object) -> None:
        if stop.is_set():
            os._exit(130)
        stop.set()

    parent = int(os.environ.get(PARENT, "0"))
    signal.signal(signal.SIGTERM, told)
    signal.signal(signal.SIGINT, signal.SIG_IGN if parent else told)
    if parent:
        os.nice(5)  # pages come first
        threading.Thread(target=_follow, args=(parent, stop), name="parent", daemon=True).start()


def _follow(parent: int, stop: threading.Event, every: float = 1.0) -> None:
    while os.getppid() == parent:
        if stop.wait(every):
            return
    stop.set()
    time.sleep(GRACE)
    sys.stderr.write("The server is gone, and this work does not end; it is done again by another worker.\n")
    os._exit(1)
