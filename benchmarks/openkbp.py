"""OpenKBP: 40 patients from files to scores, against the published evaluator where it is at hand.

It is on no package index. The environment variable `OPENKBP_OFFICIAL` names the folder that holds its
`provided_code`; without it, the same in plain pandas and numpy is the peer.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import time
import types
import zipfile
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter

import isocenter
from benchmarks import plain_openkbp
from benchmarks.timing import compare
from isocenter import phantoms
from isocenter.evaluation import Evaluation, evaluate, worker_pool
from isocenter.volumes.sparse import read_mask, read_sparse, write_sparse


def run(folder: Path, *, patients: int = 40) -> None:
    reference, submission = _cohort(folder, patients)
    challenge = isocenter.challenge("openkbp2020")

    def ours() -> Evaluation:
        return evaluate(challenge, reference=reference, submission=submission)

    def plain() -> plain_openkbp.Scores:
        return plain_openkbp.evaluate(reference, submission)

    def published() -> plain_openkbp.Scores:
        return plain_openkbp.evaluate(reference, submission, batched=True)

    board = isocenter.rank(challenge, {"team": ours().scores}, board="dvh")
    np.testing.assert_allclose(board["team"].score, plain().dvh_score, rtol=1e-12)
    peers = {"pandas + numpy, as published": published, "pandas + numpy, as lean as may be": plain}
    if named := os.environ.get("OPENKBP_OFFICIAL"):
        dose_score, dvh_score = _official(Path(named), reference, submission)
        np.testing.assert_allclose(plain().dvh_score, dvh_score, rtol=1e-12)
        np.testing.assert_allclose(plain().dose_score, dose_score, rtol=1e-12)
        peers = {"the official evaluator": lambda: _official(Path(named), reference, submission)}
        print("  against the official evaluator")
    else:
        print("  against the plain evaluator, as OPENKBP_OFFICIAL does not name the folder of the official one")
    os.environ["ISOCENTER_CACHE"] = "off"
    compare(f"OpenKBP, {patients} patients checked and scored, nothing prepared", ours, peers, repeat=3)
    os.environ["ISOCENTER_CACHE"] = str(folder / "cache")
    time.sleep(2.1)  # hashes of files younger than two seconds are not remembered
    ours()
    compare(f"OpenKBP, {patients} patients, references prepared", ours, peers, repeat=3)
    with worker_pool(2) as pool:
        evaluate(challenge, reference=reference, submission=submission, executor=pool)
        start = time.perf_counter()
        evaluate(challenge, reference=reference, submission=submission, executor=pool)
        print(f"  {'isocenter, two workers':<32} {'':16} {(time.perf_counter() - start) * 1e3:9.1f} ms wall")


def _official(folder: Path, reference: Path, submission: Path) -> tuple[float, float]:
    """Dose score and DVH score by the published evaluator."""
    # The package imports the libraries of its neural network; the evaluator needs none of them.
    package = types.ModuleType("provided_code")
    package.__path__ = [str(folder / "provided_code")]
    sys.modules.setdefault("provided_code", package)
    loader = importlib.import_module("provided_code.data_loader").DataLoader
    evaluator = importlib.import_module("provided_code.dose_evaluation_class").DoseEvaluator
    paths = importlib.import_module("provided_code.utils").get_paths
    evaluation = evaluator(loader(paths(reference)), loader(paths(submission, extension="csv")))
    with contextlib.redirect_stderr(io.StringIO()):  # a progress bar
        evaluation.evaluate()
    dose_score, dvh_score = evaluation.get_scores()
    return float(dose_score), float(dvh_score)


def _cohort(folder: Path, patients: int) -> tuple[Path, Path]:
    """One folder of references and one of predictions: the forty real patients where there are some, else phantoms."""
    named = os.environ.get("ISOCENTER_TEST_DATA")
    archive = (Path(named) if named else Path(__file__).parents[2] / "shared" / "data") / "openkbp-validation.zip"
    if not archive.is_file() or patients != 40:
        cohort = phantoms.write_openkbp_cohort(folder, cases=patients)
        print(f"\nOpenKBP: {patients} synthetic patients")
        return cohort.reference, next(iter(cohort.submissions.values()))
    print("\nOpenKBP: the forty real validation patients")
    with zipfile.ZipFile(archive) as file:
        file.extractall(folder)
    reference, submission = folder / "validation-pats", folder / "submission"
    submission.mkdir()
    for patient in sorted(reference.iterdir()):
        possible = read_mask(patient / "possible_dose_mask.csv").dense()
        dose = gaussian_filter(read_sparse(patient / "dose.csv").dense(), 1.0) * possible
        write_sparse(submission / f"{patient.name}.csv", dose.astype(np.float32), where=possible)
    return reference, submission
