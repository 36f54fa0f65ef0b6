"""What every page knows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

import isocenter
from isocenter.server.mail import are_kept


def site(request: HttpRequest) -> dict[str, Any]:
    """The version, whether mails leave the site, and how much a person has not read yet."""
    user = getattr(request, "user", None)
    unread = user.notifications.filter(read=None).count() if user is not None and user.is_authenticated else 0
    return {
        "isocenter_version": isocenter.__version__,
        "mails_are_kept": are_kept(),
        "unread": unread,
        "visit": getattr(request, "visit", None),
    }
