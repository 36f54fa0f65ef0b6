"""Figures of values: boxes of groups, points, lines and bars, each a pure function from numbers and names to SVG."""

from isocenter.report._value_figures_bars import bars_plot
from isocenter.report._value_figures_boxes import BoxGroup, boxes_plot
from isocenter.report._value_figures_frame import PlotAxis
from isocenter.report._value_figures_lines import PlotLine, lines_plot
from isocenter.report._value_figures_points import PlotPoint
from isocenter.report._value_figures_scatter import scatter_plot

__all__ = ["BoxGroup", "PlotAxis", "PlotLine", "PlotPoint", "bars_plot", "boxes_plot", "lines_plot", "scatter_plot"]
