"""An edition that is over → its report: the sections, tables and figures that a paper about it needs.

    folder ── open_folder ──▶ Study ── chapters ──▶ Report ── write_report ──▶ HTML, PDF, JSON, CSV

What every challenge has in common is written here. What one of them has of its own is a chapter: a function from a
`Study` to sections, found by the name of the challenge in the entry-point group `isocenter.reports`.
"""

from isocenter.papers._entries import Entry
from isocenter.papers._folder import Folder, open_folder
from isocenter.papers._report import Chapter, chapter_of, make_report, write_report
from isocenter.papers._rows import FolderError, read_rows
from isocenter.papers._study import Settings, Study

__all__ = [
    "Chapter",
    "Entry",
    "Folder",
    "FolderError",
    "Settings",
    "Study",
    "chapter_of",
    "make_report",
    "open_folder",
    "read_rows",
    "write_report",
]
