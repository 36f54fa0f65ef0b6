"""The registry of problems: every place that raises one names a code, every code is used and explained."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from isocenter.problems import BLAMES, COSTS, ORIGINS, Code, Problem, codes, find_code, register

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "isocenter"
ERRORS = {"VolumeError", "DicomError", "NotDicomError", "AmbiguousStudyError", "OutputError", "CodedError", "FileError"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True, eq=False)
class Site:
    """A place that makes a problem or a coded error, with the expression of its code."""

    path: Path
    call: ast.Call
    code: ast.expr | None
    around: tuple[ast.AST, ...]

    @property
    def name(self) -> str:
        return f"{self.path.relative_to(SOURCE)}:{self.call.lineno}"


@cache
def modules() -> dict[Path, ast.Module]:
    ours = [path for path in sorted(SOURCE.rglob("*.py")) if path.parent.name != "problems"]
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in ours}


def name_of(call: ast.Call) -> str:
    """`Problem` for `Problem(…)`, `Problem.of` for `Problem.of(…)`, `DicomError` for `dicom.DicomError(…)`."""
    if isinstance(call.func, ast.Attribute):
        before = call.func.value.id if isinstance(call.func.value, ast.Name) else ""
        return f"{before}.{call.func.attr}" if before in ("Problem", "Trouble") else call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def argument(call: ast.Call, name: str, place: int | None) -> ast.expr | None:
    named = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    return call.args[place] if named is None and place is not None and len(call.args) > place else named


def walk(node: ast.AST, around: tuple[ast.AST, ...] = ()) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    for child in ast.iter_child_nodes(node):
        yield child, around
        yield from walk(child, (*around, child) if isinstance(child, FUNCTIONS) else around)


@cache
def sites() -> tuple[Site, ...]:
    places = {"Problem": None, "Problem.of": 0, "Trouble": 1, **dict.fromkeys(ERRORS)}
    found = []
    for path, tree in modules().items():
        own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}  # such as the schema of the API
        for node, around in walk(tree):
            if isinstance(node, ast.Call) and (name := name_of(node)) in places and name not in own:
                found.append(Site(path, node, argument(node, "code", places[name]), around))
    return tuple(found)


def literals(code: ast.expr | None, site: Site) -> list[str] | None:
    """The codes that an expression can have; none where it passes on that of an error or an entry; None if unclear."""
    match code:
        case ast.Constant(value=str(name)):
            return [name]
        case ast.IfExp(body=one, orelse=other):
            both = literals(one, site), literals(other, site)
            return None if None in both else [*(both[0] or []), *(both[1] or [])]
        case ast.Attribute(attr="code"):
            return []
        case ast.Call() if name_of(code) == "code_of_error":
            otherwise = argument(code, "otherwise", None)
            return [] if otherwise is None else literals(otherwise, site)
        case ast.Name(id=name):
            return _of_name(name, site)
    return None


def _of_name(name: str, site: Site) -> list[str] | None:
    """What a local or a parameter can be: from its assignments, or from the calls of its function in the module."""
    function = site.around[-1]
    values = [*_assigned(function, name)]
    if isinstance(function, ast.FunctionDef) and not values:
        plain = [one.arg for one in function.args.args if one.arg not in ("self", "cls")]
        place = plain.index(name) if name in plain else None
        if place is None and name not in [one.arg for one in function.args.kwonlyargs]:
            return None
        calls = [node for node in ast.walk(modules()[site.path]) if isinstance(node, ast.Call)]
        called = [call for call in calls if name_of(call).rpartition(".")[2] == function.name]
        values = [value for call in called if (value := argument(call, name, place)) is not None]
    found: list[str] = []
    for value in values:
        known = literals(value, site)
        if known is None:
            return None
        found += known
    return found if values else None


def _assigned(function: ast.AST, name: str) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id == name:
                yield node.value
            if isinstance(target, ast.Tuple):
                places = [i for i, one in enumerate(target.elts) if isinstance(one, ast.Name) and one.id == name]
                if places and isinstance(node.value, ast.Tuple):
                    yield node.value.elts[places[0]]
                elif places:  # text, code = Trouble.of_error(…)
                    yield ast.Attribute(value=node.value, attr="code")


def test_every_place_that_makes_a_problem_names_a_registered_code() -> None:
    known = {code.name for code in codes()}
    assert len(sites()) > 200
    unclear = [site.name for site in sites() if literals(site.code, site) is None]
    assert unclear == []
    wrong = {site.name: sorted(strange) for site in sites() if (strange := {*literals(site.code, site)} - known)}
    assert wrong == {}


def test_every_code_is_used() -> None:
    used: set[object] = {name for site in sites() for name in literals(site.code, site) or []}
    for path, tree in modules().items():
        # Remarks, and entries that must not be read, have their code as a further argument; a site has its own reasons.
        carriers = ("Remark", "Entry", "make_words")
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and name_of(node) in carriers]
        for part in (tree,) if "server" in path.relative_to(SOURCE).parts else calls:
            used |= {node.value for node in ast.walk(part) if isinstance(node, ast.Constant)}
    used |= {"remark"}  # the default of `Remark`
    used |= {"unreadable", "out_of_memory", "unusable_output"}  # of `code_of_error`, by the class of an error
    assert [code.name for code in codes() if code.name not in used] == []


@pytest.mark.parametrize("code", codes(), ids=lambda code: code.name)
def test_every_code_is_explained(code: Code) -> None:
    for text in (code.title, code.words, code.advice):
        assert text.strip() == text != ""
    assert not code.title.endswith(".")
    assert code.advice.endswith(".")
    assert code.origins
    assert set(code.origins) <= set(ORIGINS)
    assert code.cost in COSTS
    assert code.blame == BLAMES[code.origins[0]]
    assert code.cost_from("evaluator") == code.cost_from("reference") == code.cost_from("machine") == "nothing"


def test_a_code_is_registered_once_with_one_meaning() -> None:
    assert register(find_code("nan")) is find_code("nan")
    with pytest.raises(ValueError, match="registered already"):
        register(Code(name="nan", title="Other", words="other", advice="Other."))
    with pytest.raises(ValueError, match="lower case"):
        register(Code(name="Not a name", title="x", words="x", advice="x."))


def test_a_problem_has_a_registered_code_and_a_known_origin() -> None:
    with pytest.raises(KeyError):
        Problem("unusable", "x", code="no_such_code")
    with pytest.raises(ValueError, match="the origin of a problem is one of"):
        Problem("unusable", "x", code="nan", origin="nowhere")  # type: ignore[arg-type]


def test_the_reference_page_is_what_the_registry_says() -> None:
    script = ROOT / "tools" / "problems_page.py"
    # In a process of its own: tests may register codes.
    done = subprocess.run([sys.executable, script, "--check"], check=False)
    assert done.returncode == 0, "run tools/problems_page.py"
