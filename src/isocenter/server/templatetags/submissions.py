"""How pages show metrics and their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template

if TYPE_CHECKING:
    from isocenter.metrics import Metric

register = template.Library()


@register.filter
def metric_name(metric: Metric) -> str:
    """A metric's name for readers, with its unit: "HD95 (mm)"."""
    from isocenter.report import metric_label

    return metric_label(metric)


@register.filter
def measured(value: float | None, metric: Metric) -> str:
    """A value with the decimals of its metric."""
    return metric.show(value)


@register.filter
def signed(value: float | None, metric: Metric) -> str:
    """A difference with its sign."""
    return "–" if value is None else f"{value:+.{metric.decimals}f}".replace("-", "−")
