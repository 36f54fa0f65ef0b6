"""Where beams go: from the plan file of a case, as it was published with the data.

Photons have control points with a gantry angle each, protons have rays with a source and a target, and pencil beams of
different energy along each ray. Both may carry the uuid of the beam and, on the platform, how its output is delivered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from isocenter.challenges.doserad2026._words import told
from isocenter.metrics import Direction, photon_direction, proton_direction
from isocenter.volumes import File, read_bytes

Modality = Literal["photon", "proton"]

# A thousand pencil beams take some hundred kilobytes.
_MAX_JSON = 1 << 26


class PlannedBeam(NamedTuple):
    """One control point or pencil beam of a plan file.

    Attributes
    ----------
    uuid
        "" if the file tells beams by their order only.
    direction
        Unit vector in patient coordinates.
    output
        On the platform, where the beam's dose is to be found: output_file_idx, idx_in_output, minimum_cutoff.
    """

    uuid: str
    direction: Direction
    output: Mapping[str, Any]


def read_json(file: File) -> Any:
    """A JSON file of reasonable size, without the NaN and Infinity that Python would take."""
    if file.size() > _MAX_JSON:
        msg = f"{file.name} has {file.size():,} bytes; at most {_MAX_JSON:,} are read"
        raise ValueError(msg)
    content = read_bytes(file, most=_MAX_JSON)
    try:
        return json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        msg = f"{file.name} is not JSON: {error}"
        raise ValueError(msg) from error


def _refuse(word: str) -> None:
    msg = f"{word} is no number"
    raise ValueError(msg)


def planned_beams(plan: Any) -> tuple[Modality, list[PlannedBeam]]:
    """Modality and beams of a plan, in its order; a plan of both kinds or of none is an error."""
    found: list[PlannedBeam] = []
    kinds: set[Modality] = set()
    for number, beam in enumerate(_list(plan, "beams", "the plan")):
        where = f"beam {number} of the plan"
        if isinstance(beam, Mapping) and "control_points" in beam:
            kinds.add("photon")
            found += _photons(beam, where)
        else:
            kinds.add("proton")
            found += _protons(beam, where)
    if len(kinds) != 1 or not found:
        msg = f"a plan has control points (photons) or rays (protons); found {' and '.join(sorted(kinds)) or 'neither'}"
        raise ValueError(msg)
    return kinds.pop(), found


def _photons(beam: Mapping[str, Any], where: str) -> Iterator[PlannedBeam]:
    for point in _list(beam, "control_points", where):
        angle: Any = point.get("gantry_angle") if isinstance(point, Mapping) else None
        try:
            way = photon_direction(angle)
        except ValueError:
            msg = f"{where}: a control point has gantry_angle {told(angle)}; expected a finite number of degrees"
            raise ValueError(msg) from None
        yield PlannedBeam(_uuid(point, "cp_uuid"), way, _output(point))


def _protons(beam: Any, where: str) -> Iterator[PlannedBeam]:
    for ray in _list(beam, "rays", where):
        ends: Mapping[str, Any] = ray if isinstance(ray, Mapping) else {}
        source: Any = ends.get("ray_source")
        target: Any = ends.get("ray_target")
        try:
            way = proton_direction(source, target)
        except ValueError:
            said = f"a ray goes from ray_source {told(source)} to ray_target {told(target)}"
            msg = f"{where}: {said}; expected points in mm, of three finite numbers each, that differ"
            raise ValueError(msg) from None
        for beamlet in _list(ray, "beamlets", where):
            yield PlannedBeam(_uuid(beamlet, "beamlet_uuid"), way, _output(beamlet))


def _list(holder: Any, name: str, where: str) -> list[Any]:
    found = holder.get(name) if isinstance(holder, Mapping) else None
    if not isinstance(found, list):
        msg = f"{where} has no list {name!r}"
        raise ValueError(msg)  # noqa: TRY004 (what is wrong is the file)
    return found


def _uuid(beam: Any, name: str) -> str:
    found = beam.get(name, "") if isinstance(beam, Mapping) else ""
    return found if isinstance(found, str) else ""


def _output(beam: Any) -> Mapping[str, Any]:
    found = beam.get("output_info") if isinstance(beam, Mapping) else None
    return found if isinstance(found, Mapping) else {}
