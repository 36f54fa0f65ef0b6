"""How `make docs` builds these pages."""

import re

from isocenter import __version__

project = "isocenter"
author = "The isocenter authors"
copyright = "the isocenter authors; Apache-2.0"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
templates_path: list[str] = []
exclude_patterns = ["_build"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_use_ivar = True
default_role = "code"

html_theme = "furo"
html_title = "isocenter"
html_show_sphinx = False


def _bars_are_bars(_app, _what, _name, _obj, _options, lines):  # type: ignore[no-untyped-def]
    """|T| in a docstring is the size of a set, not a substitution."""
    lines[:] = [line if "``" in line else line.replace("|", "\\|") for line in lines]


def _plurals_are_plurals(_app, _what, _name, _obj, _options, lines):  # type: ignore[no-untyped-def]
    """`Read`s in a docstring are several of them; between the name and the s, reST wants to be told so."""
    lines[:] = [re.sub(r"(?<!`)(`[^`]+`)(?=[a-z])", r"\1\ ", line) for line in lines]


def setup(app):  # type: ignore[no-untyped-def]
    app.connect("autodoc-process-docstring", _bars_are_bars)
    app.connect("autodoc-process-docstring", _plurals_are_plurals)
