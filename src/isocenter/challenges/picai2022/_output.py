"""What an algorithm says of an exam: a map of lesion candidates, and how likely it is that the patient has cancer.

`_arrange` has put what was submitted for a case into one place, whichever way it was delivered::

    10000_1000000/
      10000_1000000.mha            one map …
      likelihood.json              … and one number; or both in a folder for each of several trained instances
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from isocenter.metrics import Candidates, candidates_of_voxels, case_likelihood
from isocenter.problems import Remark, Trouble, code_of_error
from isocenter.submissions import VOLUME_SUFFIXES, GridPolicy, ImageFile, Reading
from isocenter.volumes import File, Folder, Foreground, Grid, Volume, VolumeError, read_bytes, read_numpy

LIKELIHOOD = "likelihood.json"
SUFFIXES = (*VOLUME_SUFFIXES, ".npz", ".npy")
TABLES = ("likelihoods.json", "likelihoods.csv")

# In numpy's archives: a detection map by its name, or the two classes of nnU-Net's first and second version.
_KEYS = ("detection_map", "softmax", "probabilities")
_LONGEST = 10_000_000
# Nobody finds a thousand lesions in a prostate; noise does.
_MOST_CANDIDATES = 1000
# A map without candidates says that there is nothing; a likelihood above this says the contrary.
_LIKELY = 0.5
_MAP_FILE = ImageFile(bounds=(0.0, 1.0), interpolation="nearest", sparse=True)

Declared = Literal["max", "bayesian"]
"""How the likelihood of a patient follows from the map, where the submission says so; see `case_likelihood`."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What one trained instance says of an exam; the candidates have axes (z, y, x)."""

    candidates: Candidates
    likelihood: float


@dataclass(frozen=True, slots=True)
class AnswerFolder:
    """A map of lesion candidates on the grid of the images of its case: in every voxel how likely it is, from 0 to 1.

    How likely it is that a patient has significant cancer, says one file beside the maps: ``likelihoods.json``, such as
    ``{"<case>": 0.83}`` with all cases, or only the text ``"max"`` if it is the maximum of the map; or
    ``likelihoods.csv`` with the columns ``case`` and ``likelihood``. Where the challenge takes the maximum of every
    map, none is needed.

    Read as `Answer` by instance.

    Attributes
    ----------
    declared
        How the likelihood of a patient follows from the map for every submission; None: each says so, or hands it in.
    """

    declared: Declared | None = None
    suffixes: tuple[str, ...] = ()
    grid_of: str | None = "lesions"
    most_bytes: int | None = 1 << 30
    most_files: int = 40

    def name(self, case: str, suffix: str) -> str:  # noqa: ARG002 (a folder has none)
        """The folder of a case."""
        return case

    def wants(self, name: str) -> bool:
        """Maps, and the likelihood."""
        return name.endswith((*SUFFIXES, f"/{LIKELIHOOD}")) or name == LIKELIHOOD

    def expected(self, case: str) -> str:
        """The map of a case, in the plainest layout."""
        return f"{case}.nii.gz (or {', '.join(SUFFIXES[1:])})"

    def read(self, file: File, *, grid: Grid | None, policy: GridPolicy) -> Reading:
        """Read all instances, and name everything that is wrong with any of them."""
        assert isinstance(file, Folder)
        assert grid is not None
        instances: dict[str, dict[str, File]] = {}
        for name, member in sorted(file.files.items()):
            instance, _, short = name.rpartition("/")
            instances.setdefault(instance, {})[short] = member
        answers: dict[str, Answer] = {}
        troubles: list[Trouble] = []
        remarks: list[Remark] = []
        observations: dict[str, float] = {}
        for instance, files in instances.items():
            of = f"{instance}: " if instance else ""
            found, its = self._map(files, grid=grid, policy=policy)
            likelihood = self._likelihood(files, found)
            wrong = [one for one in (found, likelihood) if isinstance(one, Trouble)]
            troubles += [Trouble(f"{of}{trouble.text}", trouble.code) for trouble in wrong]
            remarks += [remark._replace(text=f"{of}{remark.text}") for remark in its.coded_remarks]
            for metric, value in its.observations:
                observations[metric] = max(value, observations.get(metric, 0.0))
            if isinstance(found, Trouble) or isinstance(likelihood, Trouble):
                continue
            if likelihood > _LIKELY and not found.confidences.size:
                remarks.append(Remark("warning", f"{of}the map is empty, but the likelihood is {likelihood:g}"))
            answers[instance] = Answer(found, likelihood)
        if troubles:
            raise VolumeError("; ".join(trouble.text for trouble in troubles), code=troubles[0].code)
        return Reading(answers, tuple(remarks), tuple(observations.items()))

    def _map(
        self, files: Mapping[str, File], *, grid: Grid, policy: GridPolicy
    ) -> tuple[Candidates | Trouble, Reading]:
        """The candidates of a map, or what is wrong with it, and what there is to say of how it was read."""
        maps = [name for name in files if name != LIKELIHOOD]
        if len(maps) != 1:
            named = " and ".join(maps)
            if not maps:
                return Trouble("no map", "missing_output"), Reading(None)
            text = f"there are {len(maps)} maps ({named}); which one is meant?"
            return Trouble(text, "ambiguous_output"), Reading(None)
        try:
            if maps[0].endswith((".npz", ".npy")):
                array = read_numpy(files[maps[0]], keys=_KEYS, shape=grid.shape)
                remark = "a numpy file says nothing of its geometry; voxels are compared by their index"
                image = Foreground.of_volume(Volume(array, grid))
                reading = Reading(image, (Remark("note", remark),), (("index_trusted", 0.0),))
            else:
                reading = _MAP_FILE.read(files[maps[0]], grid=grid, policy=policy)
        except (ValueError, TypeError) as error:
            return Trouble.of_error(error, prefix=f"{maps[0]}: "), Reading(None)
        try:
            # Flattened with x fastest, as an array (z, y, x) is.
            found = candidates_of_voxels(reading.value.voxels, reading.value.values, grid.shape[::-1])
        except ValueError as error:
            text = f"{maps[0]}: {error} (voxels are counted z, y, x)"
            return Trouble(text, code_of_error(error, otherwise="bad_values")), Reading(None)
        if found.blobs.count > _MOST_CANDIDATES:
            count = f"{found.blobs.count:,} candidates; at most {_MOST_CANDIDATES:,} are taken"
            return Trouble(f"{maps[0]}: holds {count}", "bad_values"), Reading(None)
        return found, reading

    def _likelihood(self, files: Mapping[str, File], found: Candidates | Trouble) -> float | Trouble:
        """The likelihood of the patient, or what is wrong with it."""
        said: Any = self.declared
        if said is None:
            if LIKELIHOOD not in files:
                return Trouble(f"no likelihood of the patient; expected it in {TABLES[0]}", "missing_output")
            try:
                said = read_json(files[LIKELIHOOD])
            except (ValueError, OSError) as error:
                return Trouble.of_error(error, prefix="the likelihood of the patient ", otherwise="bad_format")
        if said in ("max", "bayesian"):
            return 0.0 if isinstance(found, Trouble) else case_likelihood(found, said)
        if isinstance(said, bool) or not isinstance(said, int | float) or not 0 <= said <= 1:
            text = f"the likelihood of the patient is {json.dumps(said)[:40]}; expected a number from 0 to 1"
            return Trouble(text, "bad_values")
        return float(said)


def read_json(file: File) -> Any:
    """The content of a small JSON file; a name that is there twice is an error, as are NaN and its like."""
    content = read_bytes(file, most=_LONGEST)
    try:
        text = content.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse, parse_int=_whole)
    except (ValueError, RecursionError) as error:
        msg = f"is not JSON: {error}"
        raise ValueError(msg) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if twice := next(_repeated(names), None):
        msg = f"{twice!r} is there twice"
        raise ValueError(msg)
    return dict(pairs)


def _repeated(names: list[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)


def _whole(digits: str) -> int:
    if len(digits) > 20:
        msg = f"{digits[:20]}… has {len(digits):,} digits"
        raise ValueError(msg)
    return int(digits)


def _refuse(word: str) -> float:
    msg = f"{word} is no number"
    raise ValueError(msg)
