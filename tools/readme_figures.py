"""Draw the figures of the README from the reports of `make demo`: python tools/readme_figures.py build/demo"""

from __future__ import annotations

import sys
from pathlib import Path

from isocenter.papers import Study, make_report, open_folder
from isocenter.report import Chart
from isocenter.report._print import Drawing, pieces

FIGURES = {
    "report-progress.svg": ("openkbp2020", "test", "kbp-progress-validation-dose"),
    "report-run-time.svg": ("doserad2026", "photon-ct", "doserad-time-plan-mae"),
}


def main(demo: Path, out: Path) -> None:
    """Write each as an SVG that stands alone."""
    for name, (challenge, phase, figure) in FIGURES.items():
        report = make_report(Study(open_folder(demo / challenge, phase=phase)), command="")
        charts = {block.name: block for block in report.named() if isinstance(block, Chart)}
        drawing = next(piece for piece in pieces(charts[figure].picture) if isinstance(piece, Drawing))
        paper = '</style><rect width="100%" height="100%" fill="#fff"/>'  # a page may be dark
        (out / name).write_text(drawing.svg.replace("</style>", paper, 1), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).parent.parent / "docs" / "images")
