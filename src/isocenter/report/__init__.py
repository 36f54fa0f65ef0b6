"""Boards and score tables as pages that people read: one HTML file each, complete in itself."""

from isocenter.report._board_figures import CaseSpread, case_spread_plot, case_spreads, case_values, metric_label
from isocenter.report._contours import contour_slices
from isocenter.report._curve_given import Band, OperatingMark
from isocenter.report._curves import froc_plot, precision_recall_plot, roc_plot
from isocenter.report._describe_edition import describe_edition
from isocenter.report._description import Description
from isocenter.report._description_text import description_markdown, description_page
from isocenter.report._detection_figures import detection_figures
from isocenter.report._document import Block, Cell, Chart, Code, Column, Facts, Paragraph, Report, Section, Table, table
from isocenter.report._document_data import report_csvs, report_json
from isocenter.report._document_html import report_html
from isocenter.report._document_pdf import report_pdf
from isocenter.report._dose import axial_letters, dose_slices, dvh_plot, pick_slice
from isocenter.report._figures import Figure, case_figures, dose_figures, lesion_figures, mask_figures, pictures_page
from isocenter.report._gamma_slice import gamma_slice
from isocenter.report._index import Link, index_page
from isocenter.report._lesion_slices import lesion_slices
from isocenter.report._lineage import Solution, lineage_plot
from isocenter.report._means import MeanRow, means_plot
from isocenter.report._page import leaderboard_page
from isocenter.report._rank_figures import RankSpan, blob_plot, rank_set_plot
from isocenter.report._rank_figures_histogram import histogram_plot
from isocenter.report._rank_figures_lines import rank_lines_plot
from isocenter.report._rank_figures_matrix import matrix_plot
from isocenter.report._value_figures import (
    BoxGroup,
    PlotAxis,
    PlotLine,
    PlotPoint,
    bars_plot,
    boxes_plot,
    lines_plot,
    scatter_plot,
)

__all__ = [
    "Band",
    "Block",
    "BoxGroup",
    "CaseSpread",
    "Cell",
    "Chart",
    "Code",
    "Column",
    "Description",
    "Facts",
    "Figure",
    "Link",
    "MeanRow",
    "OperatingMark",
    "Paragraph",
    "PlotAxis",
    "PlotLine",
    "PlotPoint",
    "RankSpan",
    "Report",
    "Section",
    "Solution",
    "Table",
    "axial_letters",
    "bars_plot",
    "blob_plot",
    "boxes_plot",
    "case_figures",
    "case_spread_plot",
    "case_spreads",
    "case_values",
    "contour_slices",
    "describe_edition",
    "description_markdown",
    "description_page",
    "detection_figures",
    "dose_figures",
    "dose_slices",
    "dvh_plot",
    "froc_plot",
    "gamma_slice",
    "histogram_plot",
    "index_page",
    "leaderboard_page",
    "lesion_figures",
    "lesion_slices",
    "lineage_plot",
    "lines_plot",
    "mask_figures",
    "matrix_plot",
    "means_plot",
    "metric_label",
    "pick_slice",
    "pictures_page",
    "precision_recall_plot",
    "rank_lines_plot",
    "rank_set_plot",
    "report_csvs",
    "report_html",
    "report_json",
    "report_pdf",
    "roc_plot",
    "scatter_plot",
    "table",
]
