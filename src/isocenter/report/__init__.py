"""Boards and score tables as pages that people read: one HTML file each, complete in itself."""

from isocenter.report._page import leaderboard_page

__all__ = ["leaderboard_page"]
