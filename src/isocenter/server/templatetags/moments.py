"""How pages show moments where a deadline must not be mistaken: on the clock of the reader, and in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def both(when: datetime | str | None) -> SafeString | str:
    """A moment both ways, the second to be read and not only pointed at; a text as it is."""
    if when is None:
        return "–"
    if isinstance(when, str):
        return when
    local, world = timezone.localtime(when), when.astimezone(UTC)
    shape = "%-d %B %Y, %H:%M:%S" if when.second else "%-d %B %Y, %H:%M"
    there = format_html('<time datetime="{}">{}', world.isoformat(timespec="seconds"), local.strftime(shape))
    if not local.utcoffset():
        return format_html('{} <span class="zone">UTC</span></time>', there)
    short = shape if local.date() != world.date() else shape.partition(", ")[2]
    zone, universal = local.strftime("%Z"), world.strftime(short)
    return format_html('{} <span class="zone">{} ({} UTC)</span></time>', there, zone, universal)
