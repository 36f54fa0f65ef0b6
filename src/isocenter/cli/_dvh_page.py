"""The picture of `isocenter dvh` as a file of its own: an HTML page with the table, or a plain SVG."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

_LIGHT = Markup("--paper:#fff;--ink:#1a1d21;--muted:#59616b;--hair:#d9dde2;color-scheme:light")
_DARK = Markup("--paper:#14171a;--ink:#e7e9ec;--muted:#a2abb5;--hair:#353c44;color-scheme:dark")
_COLOURS = Markup(":root{{{}}}@media (prefers-color-scheme:dark){{:root{{{}}}}}").format(_LIGHT, _DARK)
_STYLE = Markup(
    "svg text{fill:var(--ink,#1a1d21);font:14px system-ui,sans-serif;font-variant-numeric:tabular-nums;"
    "paint-order:stroke;stroke:var(--paper,#fff);stroke-width:4px;stroke-linejoin:round}"
    "svg text.small{fill:var(--muted,#59616b);font-size:12.5px}svg text.ink{fill:var(--ink,#1a1d21)}"
    "svg .end{text-anchor:end}svg .middle{text-anchor:middle}"
)
_PAGE = Markup(
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<title>{title}</title>\n<style>{colours}"
    "body{{margin:2rem auto;max-width:60rem;padding:0 1rem;background:var(--paper);color:var(--ink);"
    "font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}}"
    "h1{{font-size:1.4rem}}svg.plot{{overflow:visible}}.wide{{overflow-x:auto}}"
    "table{{border-collapse:collapse;margin-top:2rem;font-variant-numeric:tabular-nums}}"
    "th,td{{padding:.4rem .6rem;text-align:right;border-bottom:1px solid var(--hair);overflow-wrap:normal}}"
    "th:first-child,td:last-child{{text-align:left}}li{{color:var(--muted)}}{style}</style>\n</head>\n<body>\n"
    '<h1>{title}</h1>\n<figure style="margin:0">{plot}</figure>\n'
    '<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>\n'
    "<ul>\n{notes}\n</ul>\n</body>\n</html>\n"
)


def page(title: str, plot: Markup, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """One HTML file that needs nothing else; whatever is put into it is escaped."""
    lines = [
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(row[0], _each(Markup("<td>{}</td>"), row[1:]))
        for row in rows
    ]
    return str(
        _PAGE.format(
            title=title,
            colours=_COLOURS,
            style=_STYLE,
            plot=plot,
            head=_each(Markup('<th scope="col">{}</th>'), columns),
            body=Markup("\n").join(lines),
            notes=Markup("\n").join(Markup("<li>{}</li>").format(note) for note in notes),
        )
    )


def drawing(plot: Markup) -> str:
    """The plot as an SVG file of a fixed width."""
    return str(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" width="960" height="500"><style>{}{}</style>'
            '<rect width="100%" height="100%" style="fill:var(--paper)"/>'
            '<svg x="20" y="10" width="920" height="480">{}</svg></svg>\n'
        ).format(_COLOURS, _STYLE, plot)
    )


def _each(template: Markup, texts: Sequence[str]) -> Markup:
    return Markup("").join(template.format(text) for text in texts)
