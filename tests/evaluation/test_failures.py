"""Who has to act when a case cannot be measured: the team, the organisers, or those who run the machine."""

from __future__ import annotations

import errno
import pickle
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import isocenter
from isocenter.evaluation import (
    CohortError,
    EvaluationFailed,
    OutputError,
    Remark,
    check,
    evaluate,
    report_reading,
    report_stage,
    watch_stages,
)
from isocenter.evaluation._case import CaseTask, measure_case
from isocenter.evaluation._workers import _alone, _death
from isocenter.problems import Problem
from isocenter.submissions import Listing, MaskFile, Reading
from isocenter.volumes import DiskFile, File, Grid, VolumeError

HECKTOR = isocenter.challenge("hecktor2020")


def raising(error: BaseException) -> Any:
    """A hook of a challenge that raises, whatever it is called with."""

    def hook(*_: Any, **__: Any) -> Any:
        raise error

    return hook


def failure(challenge: Any, reference: Path, submission: Path) -> EvaluationFailed:
    with pytest.raises(EvaluationFailed) as caught:
        evaluate(challenge, reference=reference, submission=submission)
    return caught.value


@pytest.mark.parametrize("stage", ["prepare", "inspect", "measure"])
@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("lookup table has shape (3,)"),
        ValueError("the inverse of the matrix is not finite"),
        FileNotFoundError(errno.ENOENT, "No such file", "table.npy"),
        SystemExit(2),
    ],
)
def test_whatever_a_hook_raises_is_the_evaluators_fault(
    reference: Path, submission: Path, stage: str, error: BaseException
) -> None:
    found = failure(replace(HECKTOR, **{stage: raising(error)}), reference, submission)
    assert {(p.code, p.origin, p.blame, p.cost) for p in found.causes} == {
        ("evaluator_failed", "evaluator", "organisers", "nothing")
    }
    assert len(found.causes) == 4
    for problem in found.causes:
        assert problem.message.startswith(f"the evaluator failed in {stage}: {type(error).__name__}: ")
        assert "(test_failures.py, line " in problem.message
        assert problem.detail.startswith("Traceback (most recent call last):\n")
        assert str(error) in problem.detail


class Speechless(Exception):
    """An error that cannot be put in words."""

    def __str__(self) -> str:
        msg = "no words"
        raise RuntimeError(msg)


class Unforeseen(BaseException):
    """Not an `Exception`, as those of some test tools and schedulers are not."""


class Codeless(OutputError):
    """An error of another package that forgot its parent."""

    def __init__(self) -> None:
        self.code = "nonsense"


def raise_output_error(**words: Any) -> Any:
    raise OutputError(**words)


@pytest.mark.parametrize(
    "hook",
    [
        raising(Speechless()),
        raising(Unforeseen("x")),
        raising(GeneratorExit()),
        raising(Codeless()),
        lambda *_: raise_output_error(message="x", code="nonsense"),
        lambda *_: raise_output_error(message="x", code="evaluator_failed"),
        lambda *_: [("dice", 0.5, None)],
        lambda *_: [("dice", 0.5, 7)],
        lambda *_: [("unusable", "i say so")],
        lambda *_: [("refused", "i say so")],
        lambda *_: [("missing", "i say so")],
        lambda *_: [("nonsense", "i say so")],
    ],
)
@pytest.mark.parametrize("stage", ["inspect", "measure"])
def test_no_defect_of_a_hook_leaves_a_case_without_a_result(
    reference: Path, submission: Path, hook: Any, stage: str
) -> None:
    challenge = replace(HECKTOR, **{stage: hook})
    causes = failure(challenge, reference, submission).causes
    assert {(p.code, p.origin) for p in causes} == {("evaluator_failed", "evaluator")}
    assert [p.case for p in causes] == ["CHUV001", "CHUV002", "CHUV003", "CHUV004"]
    assert all(p.message.startswith(f"the evaluator failed in {stage}: ") and p.detail for p in causes)


def test_an_interrupt_goes_through(reference: Path, submission: Path) -> None:
    for hook in ("measure", "prepare", "arrange"):
        with pytest.raises(KeyboardInterrupt):
            evaluate(
                replace(HECKTOR, **{hook: raising(KeyboardInterrupt())}), reference=reference, submission=submission
            )


@pytest.mark.parametrize("words", [{}, {"message": None}, {"message": ""}])
def test_an_output_error_without_words_has_a_sentence(reference: Path, submission: Path, words: dict[str, Any]) -> None:
    challenge = replace(HECKTOR, measure=lambda *_: raise_output_error(**words))
    problems = evaluate(challenge, reference=reference, submission=submission).problems
    assert {(p.message, p.code, p.origin) for p in problems} == {
        ("the output cannot be measured", "unusable_output", "output")
    }


@pytest.mark.parametrize("code", ["nonsense", "evaluator_failed", "worker_lost", "reference"])
def test_an_output_error_refuses_a_code_that_is_not_about_outputs(code: str) -> None:
    with pytest.raises(ValueError, match=f"can arise in the output, not '{code}'"):
        OutputError("x", code=code)


def test_check_lists_the_evaluators_faults_and_does_not_raise(reference: Path, submission: Path) -> None:
    challenge = replace(HECKTOR, inspect=raising(KeyError("PTV")))
    problems = check(challenge, reference=reference, submission=submission)
    assert {(p.severity, p.code, p.origin) for p in problems} == {("unusable", "evaluator_failed", "evaluator")}
    assert "detail" not in problems[0].to_dict()
    assert "KeyError" in problems[0].to_dict(detail=True)["detail"]


@pytest.mark.parametrize("hook", ["arrange", "arrange_reference"])
def test_an_arrangement_that_raises_is_the_evaluators_fault(reference: Path, submission: Path, hook: str) -> None:
    challenge = replace(HECKTOR, **{hook: raising(IndexError("no such job"))})
    (problem,) = failure(challenge, reference, submission).problems
    assert problem.message.startswith("the evaluator failed in arrange: IndexError: no such job")
    assert problem.origin == "evaluator"
    assert check(challenge, reference=reference, submission=submission) == (problem,)


@pytest.mark.parametrize("hook", ["arrange", "arrange_reference"])
@pytest.mark.parametrize(
    "arrange", [lambda *_: None, raising(SystemExit(0)), raising(Unforeseen()), raising(Codeless())]
)
def test_no_defect_of_an_arrangement_passes_for_another_fault(
    reference: Path, submission: Path, hook: str, arrange: Any
) -> None:
    challenge = replace(HECKTOR, **{hook: arrange})
    (problem,) = failure(challenge, reference, submission).problems
    assert (problem.code, problem.origin) == ("evaluator_failed", "evaluator")
    assert problem.message.startswith("the evaluator failed in arrange: ")
    assert check(challenge, reference=reference, submission=submission) == (problem,)


def test_an_arrangement_may_refuse_a_submission(reference: Path, submission: Path) -> None:
    def arrange(listing: Listing, cases: Mapping[str, Mapping[str, File]]) -> Listing:
        msg = "there are two jobs"
        raise OutputError(msg, code="ambiguous_output")

    with pytest.raises(isocenter.SubmissionRefused) as caught:
        evaluate(replace(HECKTOR, arrange=arrange), reference=reference, submission=submission)
    assert caught.value.problems[0].code == "ambiguous_output"
    assert caught.value.problems[0].origin == "output"


def test_an_output_error_is_about_the_output_with_its_code(reference: Path, submission: Path) -> None:
    challenge = replace(HECKTOR, measure=raising(OutputError("beam 7 is missing", code="missing_output")))
    result = evaluate(challenge, reference=reference, submission=submission)
    assert {(p.code, p.origin, p.cost) for p in result.problems} == {("missing_output", "output", "case")}
    assert result.record["cases"] == {"measured": 0, "missing": 0, "failed": 4}


def test_the_record_and_the_problems_have_codes_and_origins(reference: Path, submission: Path) -> None:
    (submission / "CHUV002.nii.gz").write_bytes(b"not a mask")
    result = evaluate(HECKTOR, reference=reference, submission=submission)
    (told,) = result.record["problems"]
    assert told == {
        "severity": "unusable",
        "code": "damaged",
        "origin": "output",
        "case": "CHUV002",
        "file": "CHUV002.nii.gz",
        "message": result.problems[0].message,
    }


def test_a_remark_has_a_code_or_the_general_one(reference: Path, submission: Path) -> None:
    def inspect(truth: Any, output: Any) -> Iterator[Any]:
        yield Remark("warning", "plain")
        yield ("note", "a tuple of another package")
        yield Remark("warning", "coded", "other_grid")

    problems = check(replace(HECKTOR, inspect=inspect), reference=reference, submission=submission)
    assert {(p.message, p.code) for p in problems} == {
        ("plain", "remark"),
        ("a tuple of another package", "remark"),
        ("coded", "other_grid"),
    }


@dataclass(frozen=True, kw_only=True)
class Failing(MaskFile):
    """A kind of file whose reader raises for one case."""

    error: BaseException | None = None
    only: str = "CHUV002.nii.gz"

    def read(self, file: File, *, grid: Grid | None, policy: Any) -> Reading:
        if self.error is not None and file.name == self.only:
            raise self.error
        return super().read(file, grid=grid, policy=policy)


def reading(error: BaseException, slot: str = "output") -> Any:
    spec = Failing(labels=(("tumour", 1), ("nodes", 2)), grid_of="mask" if slot == "output" else None, error=error)
    return replace(HECKTOR, **{slot: {"mask": spec}})


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (VolumeError("a 2-D file", code="bad_shape"), "bad_shape"),
        (ValueError("something of another package"), "unusable_output"),
        (PermissionError(errno.EACCES, "Permission denied"), "unreadable"),
        (FileNotFoundError(errno.ENOENT, "No such file"), "unreadable"),
        (MemoryError("Unable to allocate 7 TiB"), "out_of_memory"),
    ],
)
def test_what_a_reader_refuses_is_the_outputs_fault(
    reference: Path, submission: Path, error: Exception, code: str
) -> None:
    result = evaluate(reading(error), reference=reference, submission=submission)
    (problem,) = result.problems
    assert (problem.case, problem.file, problem.code, problem.origin) == ("CHUV002", "CHUV002.nii.gz", code, "output")
    assert result.record["cases"] == {"measured": 3, "missing": 0, "failed": 1}


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.ESTALE])
@pytest.mark.parametrize("slot", ["output", "reference"])
def test_a_disk_that_fails_is_the_machines_fault(reference: Path, submission: Path, number: int, slot: str) -> None:
    found = failure(reading(OSError(number, "the disk"), slot), reference, submission)
    assert [(p.case, p.code, p.origin, p.blame) for p in found.causes] == [
        ("CHUV002", "unreadable", "machine", "machines")
    ]
    assert found.verdict == "the machine failed"


@pytest.mark.parametrize("slot", ["output", "reference"])
def test_a_reader_with_a_defect_is_the_evaluators_fault(reference: Path, submission: Path, slot: str) -> None:
    found = failure(reading(AttributeError("no attribute 'affine'"), slot), reference, submission)
    assert [(p.case, p.code, p.origin) for p in found.causes] == [("CHUV002", "evaluator_failed", "evaluator")]


def test_a_reference_that_cannot_be_read_or_prepared_is_the_organisers(reference: Path, submission: Path) -> None:
    for challenge, code in (
        (reading(VolumeError("holds nan", code="nan"), "reference"), "nan"),
        (replace(HECKTOR, prepare=raising(CohortError("the plan has no dose"))), "reference"),
        (replace(HECKTOR, prepare=raising(VolumeError("plan.mha: cut off", code="damaged"))), "damaged"),
    ):
        for run in (evaluate, lambda c, **files: check(replace(c, inspect=lambda *_: ()), **files)):
            with pytest.raises(CohortError) as caught:
                run(challenge, reference=reference, submission=submission)
            assert {(p.code, p.origin) for p in caught.value.problems} == {(code, "reference")}


def test_a_reference_that_is_no_cohort_has_problems_with_origin_reference(tmp_path: Path, submission: Path) -> None:
    (tmp_path / "nothing").mkdir()
    with pytest.raises(CohortError) as caught:
        evaluate(HECKTOR, reference=tmp_path / "nothing", submission=submission)
    assert {p.origin for p in caught.value.problems} == {"reference"}
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.problems) == (str(caught.value), caught.value.problems)


def test_the_stages_of_a_case_are_reported_in_order(reference: Path, submission: Path) -> None:
    stages: list[str] = []
    watch_stages(stages.append)
    try:
        evaluate(replace(HECKTOR, inspect=lambda *_: ()), reference=reference, submission=submission)
    finally:
        watch_stages(None)
    assert stages == ["read", "prepare", "inspect", "measure"] * 4
    assert report_stage("read") == "read"
    assert len(stages) == 16  # nobody watches any more


def test_what_is_read_later_is_reported_as_read_and_then_the_stage_goes_on(reference: Path, submission: Path) -> None:
    stages: list[str] = []

    def inspect(truth: Any, output: Any) -> Any:
        with report_reading():
            stages.append("…")
        with pytest.raises(KeyError), report_reading():
            raise KeyError
        return ()

    watch_stages(stages.append)
    try:
        check(replace(HECKTOR, inspect=inspect), reference=reference, submission=submission)
    finally:
        watch_stages(None)
    assert stages == [
        *("read", "prepare", "inspect"),
        *("read", "…", "inspect", "read", "inspect"),
        "measure",
    ] * 4  # fmt: skip


def test_a_process_that_is_killed_while_it_reads_is_out_of_memory_by_its_output() -> None:
    told = {
        (stage, code): (_death("A", stage, code).code, _death("A", stage, code).origin)
        for stage in (None, "read", "measure")
        for code in (-9, -11, 1)
    }
    assert told == {
        (None, -9): ("crashed", "evaluator"),
        (None, -11): ("crashed", "evaluator"),
        (None, 1): ("crashed", "evaluator"),
        ("read", -9): ("out_of_memory", "output"),
        ("read", -11): ("crashed", "evaluator"),
        ("read", 1): ("crashed", "evaluator"),
        ("measure", -9): ("crashed", "evaluator"),
        ("measure", -11): ("crashed", "evaluator"),
        ("measure", 1): ("crashed", "evaluator"),
    }


def test_a_task_that_no_process_can_take_is_the_evaluators_fault(reference: Path) -> None:
    from isocenter.evaluation import open_cohort

    challenge = replace(HECKTOR, measure=lambda *_: iter(()))  # a lambda is not pickled
    case = open_cohort(challenge, reference).cases[0]
    task = CaseTask(challenge, case, case.files, "refuse", "code", None)
    result = _alone(measure_case, task)
    assert (result.state, result.problems[0].origin) == ("unmeasured", "evaluator")


class Broken(ThreadPoolExecutor):
    """An executor whose futures end with an error."""

    def __init__(self, error: Exception) -> None:
        super().__init__(1)
        self.error = error

    def submit(self, *_: Any, **__: Any) -> Any:
        future: Future[Any] = Future()
        future.set_exception(self.error)
        return future


def test_only_a_task_whose_pool_broke_is_tried_again_without_limits(
    reference: Path, submission: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone: list[str] = []

    def work_alone(work: Any, task: CaseTask) -> Any:
        alone.append(task.case.name)
        return work(task)

    monkeypatch.setattr("isocenter.evaluation._workers._alone", work_alone)
    files = {"reference": reference, "submission": submission}
    evaluate(HECKTOR, **files, executor=Broken(BrokenProcessPool("died")))
    assert alone == ["CHUV001", "CHUV002", "CHUV003", "CHUV004"]
    alone.clear()
    for error in (KeyError("nonsense"), RuntimeError("cannot schedule"), pickle.PicklingError("a lambda")):
        with pytest.raises(EvaluationFailed) as caught:
            evaluate(HECKTOR, **files, executor=Broken(error))
        assert [(p.case, p.code, p.origin) for p in caught.value.causes] == [
            (f"CHUV00{n}", "evaluator_failed", "evaluator") for n in (1, 2, 3, 4)
        ]
    assert alone == []


def test_an_evaluation_that_failed_travels_between_processes(reference: Path, submission: Path) -> None:
    found = failure(replace(HECKTOR, measure=raising(KeyError("x"))), reference, submission)
    again = pickle.loads(pickle.dumps(found))
    assert (str(again), again.problems) == (str(found), found.problems)
    assert again.problems[0].detail == found.problems[0].detail
    for error in (OutputError("x", code="nan"), VolumeError("y", code="damaged")):
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.code) == (str(error), error.code)
    with pytest.raises(OSError, match="not a regular file") as caught:
        DiskFile(Path("/dev/null")).open()
    assert pickle.loads(pickle.dumps(caught.value)).code == "not_a_file"


def test_a_problem_without_a_known_code_gets_the_nearest() -> None:
    old = {"severity": "missing", "message": "expected A.nii.gz", "case": "A", "file": ""}
    assert Problem.from_dict(old).code == "missing_output"
    assert Problem.from_dict(old | {"severity": "unusable", "code": "of_next_year"}).code == "unusable_output"
    assert Problem.from_dict(old | {"severity": "note"}).code == "remark"


def test_a_problem_without_a_known_origin_gets_the_nearest() -> None:
    for code in ("timeout", "out_of_memory"):
        old = {"severity": "unusable", "message": "m", "code": code}
        assert Problem.from_dict(old).origin == "output"  # written when these were the team's
        assert Problem.from_dict(old | {"origin": "evaluator"}).origin == "evaluator"
        assert Problem.from_dict(old | {"origin": "of_next_year"}).origin == "evaluator"
    assert Problem.from_dict({"severity": "unusable", "message": "m", "code": "crashed"}).origin == "evaluator"
