"""Pictures of a page as drawings that stand alone, for print.

On a page a picture is as wide as its place and has the colours of the page. A printed one has one width and light
colours, and it is drawn by a program that knows neither variables of a style sheet nor strokes which keep their width
while the drawing is stretched. So both are worked out here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple
from xml.etree import ElementTree as ET

from markupsafe import Markup

from isocenter.report._curve_shape import SIDE

WIDTH = 680.0  # pixels that a picture as wide as the page has in print
_MARGIN = {"left": 36.0, "top": 30.0, "right": 14.0, "bottom": 54.0}  # around the square of a curve plot
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?")


class Drawing(NamedTuple):
    """An SVG text, its size in pixels, and what it shows in words."""

    svg: str
    width: float
    height: float
    words: str


class Keyed(NamedTuple):
    """A line of a key: a sample, and what it means."""

    sample: Drawing
    text: str


Piece = Drawing | Keyed | str


def pieces(picture: Markup) -> list[Piece]:
    """The drawings, key lines and sentences of a picture, in their order."""
    root = ET.fromstring(f"<root>{_without_names(str(picture))}</root>")  # noqa: S314 -- markup of this room, escaped
    own = "".join(style.text or "" for style in root.iter("style"))
    sheet = _without_media(_page_rules() + own)
    return list(_walk(root, (), _resolved(sheet, _variables(sheet))))


def _walk(element: ET.Element, classes: tuple[str, ...], sheet: str) -> Iterator[Piece]:
    for child in element:
        if child.tag == "svg":
            yield _drawing(child, classes, sheet)
        elif child.tag == "li":
            sample = next((inner for inner in child.iter("svg")), None)
            text = "".join(part for part in _texts(child)).strip()
            yield Keyed(_drawing(sample, classes, sheet), text) if sample is not None else text
        elif child.tag == "p":
            yield "".join(child.itertext()).strip()
        elif child.tag != "style":
            yield from _walk(child, (*classes, *child.get("class", "").split()), sheet)


def _texts(element: ET.Element) -> Iterator[str]:
    """The text of an element without that of drawings in it."""
    yield element.text or ""
    for child in element:
        if child.tag != "svg":
            yield from _texts(child)
        yield child.tail or ""


def _drawing(svg: ET.Element, classes: tuple[str, ...], sheet: str) -> Drawing:
    """One `svg` element with a size, light colours and its style inside."""
    box = [float(number) for number in svg.get("viewBox", "").split()]
    words = " ".join((svg.findtext(tag) or "").strip() for tag in ("title", "desc")).strip()
    # Names in a short form are for telephones.
    for parent in list(svg.iter()):
        for child in list(parent):
            if child.tag == "style" or "narrow" in child.get("class", "").split():
                parent.remove(child)
    around = {"left": 0.0, "top": 0.0, "right": 0.0, "bottom": 0.0}
    if box:
        width, height = box[2], box[3]
    elif svg.get("height"):
        width, height = WIDTH, float(svg.get("height", "0"))
    else:
        width = height = SIDE
        around = _MARGIN
    svg.attrib |= {"width": f"{width:g}", "height": f"{height:g}", "class": " ".join((*classes, svg.get("class", "")))}
    svg.attrib.pop("style", None)
    _flatten(svg, width, height)
    variables = _variables(sheet)
    for element in svg.iter():
        element.attrib |= {name: _resolved(text, variables) for name, text in element.attrib.items() if "var(" in text}
    body = ET.tostring(svg, encoding="unicode")
    whole = width + around["left"] + around["right"], height + around["top"] + around["bottom"]
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole[0]:g}" height="{whole[1]:g}">'
        f"<style>{sheet}svg text{{stroke-width:3px}}</style>"
        f'<g transform="translate({around["left"]:g} {around["top"]:g})">{body}</g></svg>'
    )
    return Drawing(text, *whole, words)


def _flatten(element: ET.Element, width: float, height: float) -> None:
    """Work out inner drawings that are stretched, so that their strokes are not."""
    for child in element:
        if child.tag != "svg":
            _flatten(child, width, height)
            continue
        across, down = _length(child.get("width", "100%"), width), _length(child.get("height", "100%"), height)
        box = [float(number) for number in child.get("viewBox", "").split()]
        if box and child.get("preserveAspectRatio") == "none":
            for path in child.iter("path"):
                path.set("d", _scaled(path.get("d", ""), across / box[2], down / box[3]))
            del child.attrib["viewBox"], child.attrib["preserveAspectRatio"]
        child.set("overflow", "visible")
        _flatten(child, across, down)


def _scaled(path: str, across: float, down: float) -> str:
    """A path of straight lines between absolute places, stretched."""
    found = []
    for command, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", path):
        if command not in "MLHVZz":
            msg = f"a path that is stretched is made of straight lines between absolute places, not of {command!r}"
            raise ValueError(msg)
        values = [float(number) for number in _NUMBER.findall(numbers)]
        factors = {"H": (across,), "V": (down,)}.get(command, (across, down))
        found.append(command + " ".join(f"{v * factors[i % len(factors)]:.2f}" for i, v in enumerate(values)))
    return "".join(found)


def _length(text: str, whole: float) -> float:
    return float(text[:-1]) / 100 * whole if text.endswith("%") else float(text)


@cache
def _page_rules() -> str:
    """The part of the page's style sheet that is about drawings, and the light colours."""
    text = files("isocenter.report").joinpath("style.css.j2").read_text("utf-8")
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def _without_media(sheet: str) -> str:
    """A style sheet without what holds for some media only."""
    kept, at = [], 0
    while (start := sheet.find("@media", at)) >= 0:
        kept.append(sheet[at:start])
        at, depth = sheet.index("{", start) + 1, 1
        while depth:
            depth += {"{": 1, "}": -1}.get(sheet[at], 0)
            at += 1
    return "".join([*kept, sheet[at:]])


def _variables(sheet: str) -> dict[str, str]:
    return {name: value.strip() for name, value in reversed(re.findall(r"(--[\w-]+)\s*:\s*([^;}]+)", sheet))}


def _resolved(text: str, variables: dict[str, str]) -> str:
    """What the variables stand for, or what the text says for the case that there are none."""
    pattern = re.compile(r"var\((--[\w-]+)(?:,\s*([^()]*))?\)")
    return pattern.sub(lambda found: variables.get(found[1], found[2] or "none"), text)


def _without_names(text: str) -> str:
    """HTML knows more named characters than XML, which ours are not written with, and no name spaces."""
    return text.replace("&nbsp;", "\u00a0").replace(' xmlns="http://www.w3.org/2000/svg"', "")
