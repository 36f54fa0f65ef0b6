"""What case.json says: the prescription, the structures, and the weights of the beams.

Every function adds what is wrong to a list of problems, and gives what is left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeGuard

from isocenter.challenges.doserad2026._words import some, told, verb

MOST_GY = 1e9
"""Far more than any dose; beyond it sums of squares overflow."""

# Weights may be numbers of particles; with doses of up to MOST_GY their squares do not overflow either.
_MOST_WEIGHT = 1e18


class Weights(NamedTuple):
    """What case.json says of beams: by uuid, weight and minimum cutoff; complete if every beam has a uuid of its own.

    A weight that is none is NaN, and has been told.
    """

    beams: Mapping[str, tuple[float, float | None]]
    complete: bool


def _is_number(value: object, most: float) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most


def prescription_of(said: Mapping[str, Any], problems: list[str]) -> float:
    """The prescribed dose in Gy; 0 if there is none."""
    found = said.get("prescription_dose_gy")
    if _is_number(found, MOST_GY) and found > 0:
        return float(found)
    problems.append(f"case.json: prescription_dose_gy is {told(found)}; expected a dose in Gy, it has no default")
    return 0.0


def structures_of(said: Mapping[str, Any], problems: list[str]) -> tuple[tuple[str, ...], int | None, tuple[int, ...]]:
    """Names of all structures, the place of the target among them, and those of the organs at risk."""
    names = said.get("structure_names", [])
    if not (isinstance(names, list) and all(isinstance(name, str) and name for name in names)):
        problems.append(f"case.json: structure_names is {told(names)}; expected a list of names")
        return (), None, ()
    if len(set(names)) < len(names):
        problems.append("case.json: structure_names lists a name twice")
    target = said.get("ptv_index")
    if target is not None and not _is_index(target, names):
        problems.append(
            f"case.json: ptv_index is {told(target)}; expected a place in structure_names, 0 to {len(names) - 1}"
        )
        target = None
    organs = said.get("oar_indices")
    if organs is None:
        organs = [i for i in range(len(names)) if i != target]
    if not (isinstance(organs, list) and all(_is_index(i, names) and i != target for i in organs)):
        problems.append(
            f"case.json: oar_indices is {told(organs)}; expected places in structure_names other than the PTV's"
        )
        organs = []
    elif len(set(organs)) < len(organs):
        problems.append(f"case.json: oar_indices {told(organs)} lists an organ twice")
    return tuple(names), target, tuple(organs)


def _is_index(value: object, names: list[str]) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(names)


def weights_of(said: Mapping[str, Any], problems: list[str]) -> Weights | None:
    """Weight and cutoff of every beam that has a uuid; None if there is no list of beams."""
    listed = said.get("beams")
    if not (isinstance(listed, list) and listed):
        problems.append(f"case.json: beams is {told(listed)}; expected a list of {{uuid, weight}}")
        return None
    found: dict[str, tuple[float, float | None]] = {}
    nameless: dict[str, object] = {}
    twice: dict[str, None] = {}
    wrong: dict[str, object] = {}
    for number, beam in enumerate(listed):
        uuid, weight = (beam.get(key) if isinstance(beam, Mapping) else None for key in ("uuid", "weight"))
        if not (isinstance(uuid, str) and uuid and "/" not in uuid):
            nameless[str(number)] = uuid
        elif uuid in found:
            twice[uuid] = None
        elif not _is_number(weight, _MOST_WEIGHT):
            wrong[uuid] = weight
            found[uuid] = math.nan, None
        else:
            found[uuid] = float(weight), cutoff_of(beam)
    if nameless:
        problems.append(f"case.json: {_with(nameless, 'the uuid')}; expected a name without /")
    if twice:
        problems.append(f"case.json: {some(list(twice))} {verb(twice, 'is', 'are')} listed twice")
    if wrong:
        problems.append(f"case.json: {_with(wrong, 'the weight')}; expected a number of 0 or more, up to 1e18")
    if found and not any(weight for weight, _ in found.values()):
        problems.append("case.json: the weights of all beams are 0")
    return Weights(found, complete=not (nameless or twice))


def _with(found: Mapping[str, object], what: str) -> str:
    """Beams and what they have, told of the first one only."""
    names = list(found)
    return f"{some(names)} {verb(names, 'has', 'have')} {what} {told(found[names[0]])}{verb(names, '', ' (the first)')}"


def cutoff_of(holder: Mapping[str, Any]) -> float | None:
    """The dose below which a beam is not told; None if nothing usable is said of it."""
    cutoff = holder.get("minimum_cutoff")
    return float(cutoff) if _is_number(cutoff, MOST_GY) else None
