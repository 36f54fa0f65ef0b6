"""Write docs/reference/problems.md from the registry of problems; `--check` only says whether it is up to date."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from isocenter.problems import BLAMES, COSTS, Code, codes

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "problems.md"
_HEAD = """\
# Problems

<!-- Made by tools/problems_page.py from the registry in src/isocenter/problems; edit those. -->

What can go wrong with a submission, or with a case of one. Every problem has a *code*, which programs compare and which
never changes, and an *origin*: where it arose. Both stand in the JSON of `isocenter check` and `isocenter score`, in
the record of a score table, in `isocenter.Problem` and in the [API of a site](api.md), beside severity, case, file and
message:

```json
{"severity": "unusable", "code": "bad_grid", "origin": "output", "case": "CHUV007", "file": "CHUV007.nii.gz",
 "message": "grid differs: 144×144×48 at 1×1×3 mm, reference 144×144×144 at 1×1×1 mm; corners lie up to …"}
```

| origin | where it arose | whose turn |
| --- | --- | --- |
"""
_FORMAT = re.compile(r"\{[^}]*\}")
_ORIGINS = {
    "output": "in what a team handed in",
    "reference": "in the organisers' files",
    "evaluator": "in the code that measures: `prepare`, `measure` or `inspect` raised, took too long, or killed its "
    "process",
    "machine": "on the computer that did the work: a disk, a lost worker, an error of the site",
}
_MIDDLE = """
Only what arose in the output can cost a team anything. Where the evaluator or the machine failed in any case, there is
no table: all other cases are finished and kept, and the same command, or a re-evaluation on a site, continues once the
fault is mended. On the command line the exit code is then [3](command-line.md#exit-codes), and organisers see the
traceback; on a site no attempt is used and no board is published on it.

| cost | meaning |
| --- | --- |
"""
_TAIL = """
A site shows title and advice to everybody who may see the submission. What a program printed is for organisers only, as
it may tell what the cases are like. `worker_lost` with "attempt 2 of 3" beside a submission that waits or runs is not a
failure: another worker goes on. [How much a case may take](site-settings.md#what-a-case-may-take) is set by those who
run the site. [Fix a submission](../how-to/fix-a-submission.md) has the messages one by one.

A challenge of another package says what is wrong with an output by `OutputError("…", code="bad_values")`. Whatever else
its `prepare`, `measure` or `inspect` raises is `evaluator_failed`. It may add codes of its own with
`isocenter.problems.register`.

## Why it does not count

A submission that was scored may still be void. The page says why, in sentences rather than codes: the terms are not
accepted in their present version, a declaration is missing, the survey is not filled in (in the phase that closes
last), the team is disqualified, or the organisers decided it. What can be mended counts again as soon as it is.
"""


def make_page() -> str:
    """The page, from what is registered in the library itself."""
    lines = [f"| `{origin}` | {text} | {BLAMES[origin]} |" for origin, text in _ORIGINS.items()]  # type: ignore[index]
    costs = [f"| {cost} | {text} |" for cost, text in COSTS.items()]
    rows = [_row(code) for code in codes()]
    columns = "| code | what happened, in the words of the message | origin | blame | cost | what to do |"
    head = ["", "## Codes", "", columns, "| --- | --- | --- | --- | --- | --- |"]
    return _HEAD + "\n".join(lines) + "\n" + _MIDDLE + "\n".join([*costs, *head, *rows]) + "\n" + _TAIL


def _row(code: Code) -> str:
    origins = ", ".join(f"`{origin}`" for origin in code.origins)
    blame = ", ".join(dict.fromkeys(BLAMES[origin] for origin in code.origins))
    words = "" if code.words == "{detail}" else f": “{_FORMAT.sub('…', code.words)}”"
    return f"| `{code.name}` | {code.title}{words} | {origins} | {blame} | {code.cost} | {code.advice} |"


def main() -> int:
    """Write the page, or compare it."""
    page = make_page()
    if "--check" in sys.argv:
        return 0 if PAGE.read_text(encoding="utf-8") == page else 1
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
