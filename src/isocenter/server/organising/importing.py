"""Challenges and their data come to the site: as folders or zips, checked first, put in place whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Q
from django.utils.text import get_valid_filename

from isocenter.editions import Edition, Phase, new, render, split_cohort
from isocenter.problems import report
from isocenter.server import clock, decisions, files
from isocenter.server.editions import code_of
from isocenter.server.models import Challenge, Reference, Release, Role, Upload, User, Version
from isocenter.server.organising import bundle, versioning
from isocenter.server.organising.bundle import Bundle
from isocenter.server.organising.unpacking import copy_all, digest_of, nursery_in, unpack
from isocenter.server.organising.versioning import Refused
from isocenter.server.work import reevaluation
from isocenter.submissions import list_files

if TYPE_CHECKING:
    from isocenter.evaluation import Challenge as Code
    from isocenter.evaluation import Cohort

EVERY_PHASE = "_all"
"""The folder of a reference that is for all phases; the name of a phase begins with a letter."""

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{1,58}[a-z0-9]")


def import_challenge(source: str | os.PathLike[str], *, user: User | None, slug: str, note: str = "") -> Challenge:
    """A new challenge from a folder or zip, see `bundle`; who brings it organises it. It is not published yet.

    Raises
    ------
    bundle.BundleError, EditionError
        The folder, or its `challenge.toml`, is wrong; nothing was made.
    Refused
        The address is taken, or is none.
    """
    return make_challenge(bundle.read(Path(source)), user=user, slug=slug, note=note or "Imported.")


def begin_challenge(code: str, *, user: User | None, slug: str) -> Challenge:
    """A new challenge from one that is installed, as `isocenter init` would write it."""
    from isocenter.evaluation import load_challenge

    about = bundle.Page(name="about", title="About", text="# About\n\nSay here what the challenge is for.\n")
    text = render(new(load_challenge(code), now=clock.now()))
    return make_challenge(Bundle(text, (about,)), user=user, slug=slug, note="The beginning.")


def address_problem(slug: str) -> str:
    """Why a challenge cannot be called so in addresses; "" if it can."""
    if _SLUG.fullmatch(slug):
        return ""
    return f"An address consists of 3 to 60 lower-case letters, digits and -, such as neck-2027; not {slug!r}."


def make_challenge(content: Bundle, *, user: User | None, slug: str, note: str) -> Challenge:
    """A challenge with its first version."""
    if problem := address_problem(slug):
        raise Refused(problem)
    versioning.checked(content.toml)
    with transaction.atomic():
        fresh = {"salt": secrets.token_bytes(32), "made": clock.now()}
        challenge, made = Challenge.objects.get_or_create(slug=slug, defaults=fresh)
        if not made:
            msg = f"There is a challenge at the address {slug} already; choose another, or import into that one."
            raise Refused(msg)
        challenge.version = Version.objects.create(
            challenge=challenge,
            number=1,
            toml=content.toml,
            pages=list(content.pages),
            cohort=list(content.cohort),
            author=user,
            note=note[:500],
            made=clock.now(),
        )
        challenge.save(update_fields=["version"])
        if user is not None:
            Role.objects.create(user=user, challenge=challenge, kind=Role.Kind.ORGANISER)
        return challenge


def import_version(
    challenge: Challenge, source: str | os.PathLike[str], *, user: User | None, base: int, note: str
) -> Version | None:
    """A new version of a challenge from a folder or zip; see `versioning.save`."""
    found = bundle.read(Path(source))
    return versioning.save(
        challenge, user, base=base, note=note, toml=found.toml, pages=found.pages, cohort=found.cohort
    )


def export(challenge: Challenge, version: Version | None = None) -> bytes:
    """A version, the one in force unless another is given, as a zip that imports to the same."""
    chosen = version or challenge.version
    assert chosen is not None
    return bundle.zipped(Bundle(chosen.toml, tuple(chosen.pages), tuple(chosen.cohort)))


def add_reference(
    challenge: Challenge,
    phase: str,
    folder: str | os.PathLike[str],
    *,
    images: str | os.PathLike[str] = "",
    run_times: str | os.PathLike[str] = "",
    note: str = "",
    user: User | None = None,
) -> Reference:
    """Put the files that a phase is measured against in place, as its next version.

    Parameters
    ----------
    phase
        Its name; "" for all phases that have no reference of their own; with a further cohort, as in "test.holdout",
        the files of that. With the first of them, everything that is scored in the phase is scored there, too.
    folder
        The reference, or a zip of it: its files, or `reference/` with them, beside which there may be `images/` and
        `run_times.csv`.
    images, run_times
        Scans for the viewer, and metered run times, where they are not in `folder`.

    Raises
    ------
    Refused
        With everything that is wrong; nothing was changed.
    """
    scored = challenge.edition.find_scored(phase) if phase else None
    if phase and scored is None:
        msg = f"There is no phase {phase!r}."
        raise Refused(msg)
    if scored is not None and scored.continues is not None:
        msg = f"{phase} continues {scored.continues} and is measured against its reference; upload a new version there."
        raise Refused(msg)
    home = f"references/{challenge.slug}/{phase or EVERY_PHASE}"
    with nursery_in(home) as nursery:
        parts = unpack(Path(folder), nursery)
        if images:
            copy_all(list_files(images, trusted=True), nursery / "images")
            parts.add("images")
        if run_times:
            shutil.copyfile(run_times, nursery / "run_times.csv")
            parts.add("run_times.csv")
        cases = _check_reference(challenge, phase, nursery / "reference")
        digest = digest_of(nursery / "reference")
        with transaction.atomic():
            Challenge.objects.select_for_update().get(pk=challenge.pk)
            last = Reference.objects.filter(challenge=challenge, phase=phase).first()
            if last is not None and last.digest == digest and not parts - {"reference"}:
                msg = f"These are the files of version {last.number}, which is in force already; nothing was changed."
                raise Refused(msg)
            number = 1 if last is None else last.number + 1
            named = {"reference": str(number), "images": f"{number}.images", "run_times.csv": f"{number}.run_times.csv"}
            places = [f"{home}/{name}" for name in named.values()]
            if Reference.objects.filter(Q(folder__in=places) | Q(images__in=places) | Q(run_times__in=places)).exists():
                msg = f"The folder {home} holds version {number} of another reference; nothing was changed."
                raise Refused(msg)
            for part in parts:
                target = files.at(f"{home}/{named[part]}")
                shutil.rmtree(target, ignore_errors=True)  # no row names it: what is there was left by a crash
                os.replace(nursery / part, target)
            reference = Reference.objects.create(
                challenge=challenge,
                phase=phase,
                number=number,
                folder=f"{home}/{number}",
                images=f"{home}/{named['images']}" if "images" in parts else last.images if last else "",
                run_times=f"{home}/{named['run_times.csv']}"
                if "run_times.csv" in parts
                else last.run_times
                if last
                else "",
                digest=digest,
                cases=cases,
                note=note[:500],
                made=clock.now(),
            )
            subject = f"{phase or 'all phases'}, version {number}"
            decisions.record(challenge, user or "the site", "set the reference", subject, note or f"{len(cases)} cases")
            if number == 1 and split_cohort(phase)[1]:
                why = "The cohort has a reference now, so that submissions to its phase can be scored on it."
                reevaluation.reevaluate(user or "the site", challenge, phase, None, why)
        return reference


def measured_against(edition: Edition, phase: str) -> list[Phase]:
    """What a reference is for: a phase or a further cohort of it; all phases, on their own cases, if it has no name."""
    return list(edition.phases) if not phase else [one for one in edition.scored if one.name == phase]


def set_run_times(reference: Reference, source: str | os.PathLike[str], *, user: User | None, note: str) -> None:
    """Put metered run times beside a reference, in the place of those before; boards are made anew.

    Raises
    ------
    Refused
        The challenge ranks by no run times, or the table cannot be read.
    """
    from isocenter.server.work import making

    challenge = reference.challenge
    assert challenge.version_id is not None
    names = [one.name for one in measured_against(challenge.edition, reference.phase)]
    code = code_of(challenge.version_id, names[0])
    if code.run_times is None:
        msg = f"{code.title} does not rank by run times."
        raise Refused(msg)
    try:
        code.run_times(Path(source), list(challenge.teams.values_list("name", flat=True)))
    except (ValueError, OSError) as error:
        raise Refused(str(error).splitlines()) from None
    place = f"{Path(reference.folder).parent}/{reference.number}.{secrets.token_hex(4)}.run_times.csv"
    shutil.copyfile(source, files.at(place))
    with transaction.atomic():
        Reference.objects.filter(pk=reference.pk).update(run_times=place)
        decisions.record(challenge, user or "the site", "set run times", reference.phase or "all phases", note)
        for name in names:
            making.refresh(challenge, name)


def add_release(
    challenge: Challenge,
    source: str | os.PathLike[str] | Upload,
    *,
    title: str,
    name: str = "",
    phase: str = "",
    text: str = "",
    licence: str = "",
    released: datetime | None = None,
) -> Release:
    """Offer a file for download: with a phase, from its opening on and to whom it is open. A file on disk is copied."""
    from isocenter.server.submitting import uploads

    shown = get_valid_filename(name or (source.name if isinstance(source, Upload) else Path(source).name))[:150]
    if phase and phase not in [one.name for one in challenge.edition.phases]:
        msg = f"There is no phase {phase!r}."
        raise Refused(msg)
    if not title.strip():
        msg = "Data need a title, by which people find them."
        raise Refused(msg)
    place = f"releases/{challenge.slug}/{secrets.token_hex(8)}-{shown}"
    target = files.at(place)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with transaction.atomic():
            if isinstance(source, Upload):
                uploads.take(source, place)
            else:
                shutil.copyfile(source, target)
            return Release.objects.create(
                challenge=challenge,
                phase=phase,
                title=title.strip()[:200],
                text=text,
                name=shown,
                file=place,
                size=target.stat().st_size,
                sha256=source.sha256 if isinstance(source, Upload) else files.sha256_of(target),
                licence=licence.strip(),
                released=released,
                made=clock.now(),
            )
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _check_reference(challenge: Challenge, phase: str, folder: Path) -> list[str]:
    """The cases of a reference, or everything that is wrong with it."""
    from isocenter.evaluation import CohortError, open_cohort

    edition, version = challenge.edition, challenge.version
    assert version is not None
    code = code_of(version.pk, phase or edition.last_phase.name)
    try:
        cohort = open_cohort(code, folder)
    except CohortError as error:
        lines = zip(report(error.problems).splitlines(), error.problems, strict=True)
        raise Refused([line.strip() if one.case or one.file else one.message for line, one in lines]) from None
    cases, problems = [case.name for case in cohort.cases], []
    for one in measured_against(edition, phase):
        if one.cases is not None and one.cases != len(cases):
            problems.append(f"There are {len(cases)} cases; {one.name} has cases = {one.cases} in its challenge.toml.")
    listed = {row["case"] for row in version.cohort if row["phase"] == phase}
    if listed:
        problems += [f"{case}: is in the manifest of cases, but has no files." for case in sorted(listed - set(cases))]
        problems += [f"{case}: has files, but is not in the manifest." for case in sorted(set(cases) - listed)]
    problems += _unreadable(code, cohort)
    if problems:
        raise Refused(problems)
    return cases


def _unreadable(code: Code, cohort: Cohort) -> Iterator[str]:
    """What is wrong inside the files: one that was cut off has a header all the same."""
    for case in cohort.cases:
        for slot, spec in code.reference.items():
            try:
                spec.read(case.files[slot], grid=None, policy="refuse")
            except (ValueError, OSError) as error:
                yield f"{case.name}: {case.files[slot].name}: cannot be read: {error}"
