"""What a team sent, and whether it is what was asked for. Everything here is hostile until checked."""

from isocenter.problems import Problem, Severity, SubmissionRefused, as_cell, printable, report
from isocenter.submissions._files import (
    VOLUME_SUFFIXES,
    FileSpec,
    FolderSpec,
    GridPolicy,
    ImageFile,
    MaskFile,
    Reading,
    is_folder,
    remark_geometry,
)
from isocenter.submissions._listing import Entry, Listing, list_files
from isocenter.submissions._match import Match, is_junk, match

__all__ = [
    "VOLUME_SUFFIXES",
    "Entry",
    "FileSpec",
    "FolderSpec",
    "GridPolicy",
    "ImageFile",
    "Listing",
    "MaskFile",
    "Match",
    "Problem",
    "Reading",
    "Severity",
    "SubmissionRefused",
    "as_cell",
    "is_folder",
    "is_junk",
    "list_files",
    "match",
    "printable",
    "remark_geometry",
    "report",
]
