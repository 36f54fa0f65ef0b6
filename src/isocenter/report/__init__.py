"""Boards and score tables as pages that people read: one HTML file each, complete in itself."""

from isocenter.report._index import Link, index_page
from isocenter.report._page import leaderboard_page

__all__ = ["Link", "index_page", "leaderboard_page"]
