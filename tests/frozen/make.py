"""Make all frozen items with the code that is installed.

    python -m tests.frozen.make FOLDER [NAME…]

writes the items of all makers, or of those named, below FOLDER. To freeze what the code does now, FOLDER is
`tests/frozen/expected`; to look at a difference, it is any other, and `diff -r` does the rest.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.frozen import boards, commands, demo, messages, resampling, rules
from tests.frozen.tools import Items, plain, save

MAKERS: Mapping[str, Callable[[Path], Items]] = {
    "demo": demo.make,
    "messages": messages.make,
    "boards": boards.make,
    "rules": rules.make,
    "commands": commands.make,
    "resampling": resampling.make,
}
OWNERS: Mapping[str, str] = {
    "boards": "boards",
    "commands": "commands",
    "demo": "demo",
    "details": "boards",
    "golden": "rules",
    "messages": "messages",
    "resampling": "resampling",
    "rules": "rules",
}
"""The maker of the items of each folder."""


def write_items(maker: str, out: Path, *, folder: Path) -> None:
    """Make the items of one maker, with files of its own in a folder, and write them."""
    before = os.environ.get("ISOCENTER_CACHE")
    os.environ["ISOCENTER_CACHE"] = str(folder / f"cache-{maker}")
    try:
        for name, value in MAKERS[maker](folder).items():
            save(plain(value), out / name)
    finally:
        if before is None:
            del os.environ["ISOCENTER_CACHE"]
        else:
            os.environ["ISOCENTER_CACHE"] = before


def main(*arguments: str) -> None:
    """Write items to a folder; files that makers share are made in another, which is kept if it is named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        for maker in options.names or MAKERS:
            write_items(maker, options.out, folder=options.folder or Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
