"""How pages show moments, sizes and text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from isocenter.server.markdown import rendered
from isocenter.server.work.reasons import Reason, reason_of

if TYPE_CHECKING:
    from isocenter.server.models import Submission
    from isocenter.server.policy import Visit

register = template.Library()


@register.filter
def moment(when: datetime | None) -> SafeString | str:
    """A moment on the viewer's clock, with its zone, and in UTC when pointed at."""
    if when is None:
        return "–"
    local = timezone.localtime(when)
    zone = local.strftime("%Z")
    utc = when.astimezone(UTC).strftime("%-d %B %Y, %H:%M UTC")
    return format_html(
        '<time datetime="{}" title="{}">{} <span class="zone">{}</span></time>',
        when.astimezone(UTC).isoformat(timespec="seconds"),
        utc,
        local.strftime("%-d %B %Y, %H:%M"),
        zone,
    )


@register.filter
def phase_title(visit: Visit, name: str) -> str:
    """A phase as people call it; one that is gone has its name left."""
    phase = visit.edition.find_scored(name)
    return name if phase is None else phase.title


@register.filter
def reason(submission: Submission) -> Reason | None:
    """Why a submission came to nothing."""
    return reason_of(submission)


@register.filter
def markdown(text: str, how: str = "") -> SafeString:
    """Markdown of organisers or participants as HTML that can do no harm."""
    return rendered(text, images=how != "no images")


@register.filter
def nbytes(size: int | None) -> str:
    """A size as people say it: 12.3 MB."""
    if size is None:
        return "–"
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
