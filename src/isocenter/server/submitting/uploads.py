"""Files on their way to the site: in pieces, over as many connections as it takes. How they are sent, says `tus`.

    begin ──▶ append, append, … ──▶ finished ──▶ take          (or drop; or tidy, after two days)
              uploads/ID                         its place, such as submissions/ID.zip

How much of a file is there says the file itself, never the row: a server that is killed leaves a row that knows too
little, and the next one looks. Who writes holds a lock on the file, so two connections never mix their bytes.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import F, Sum
from django.db.models.functions import Least
from django.http import Http404

from isocenter.server import clock, files
from isocenter.server.models import Challenge, Submission, Upload, User
from isocenter.server.policy import SECOND_FACTOR, Door, Visit, lacks_second_factor, refuse
from isocenter.submissions import printable

KEPT = timedelta(days=2)
"""How long a file waits for its next piece, or for what it was sent for."""
IDLE = timedelta(hours=1)
MOST_OPEN = 10
RESERVE = 2 * 10**9
"""Bytes that stay free on the disk, for the database and for results."""
AHEAD = 32 * 2**20
"""Bytes of a file on its way for which room is kept beforehand."""
MOST_DOCUMENT_BYTES = 50 * 10**6
_PIECE = 1 << 20
_FULL = "The disk of the site is full; what came before is kept. Tell the organisers, and continue later."
_NAME = 200


class UploadRefused(Exception):
    """A file, or a piece of one, that is not taken; the message says why, `status` the same in a number of HTTP."""

    def __init__(self, message: str, status: int = 400) -> None:
        self.status = status
        super().__init__(message)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes:
        """The next bytes; none at the end."""
        ...


def path_of(upload: Upload) -> Path:
    """Where its bytes are, until it is taken."""
    return files.at(f"uploads/{upload.pk}")


def offset_of(upload: Upload) -> int:
    """How much of it is there."""
    if upload.taken is not None:
        return upload.size
    try:
        return path_of(upload).stat().st_size
    except FileNotFoundError:
        return 0


def begin(user: User, *, challenge: Challenge | None, phase: str, purpose: str, name: str, size: int) -> Upload:
    """An upload of which nothing is there yet.

    Raises
    ------
    UploadRefused
        It is too large, there are too many of this person, or the disk is full.
    PermissionDenied, Http404
        The person may not send such a file, or not know of what it is for.
    """
    _permit(user, challenge, phase, purpose)
    most = MOST_DOCUMENT_BYTES if purpose == Upload.Purpose.DOCUMENT else settings.MOST_UPLOAD_BYTES
    if size <= 0:
        msg = "The file is empty."
        raise UploadRefused(msg)
    if size > most:
        msg = f"The file has {size:,} bytes; at most {most:,} are taken."
        raise UploadRefused(msg, 413)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)
        _make_room(user, size)
        return Upload.objects.create(
            user=user, challenge=challenge, phase=phase, purpose=purpose, name=_plain(name), size=size
        )


def _permit(user: User, challenge: Challenge | None, phase: str, purpose: str) -> None:
    """Refuse what a person may not send; before twenty gigabytes have come, not after."""
    if purpose not in Upload.Purpose.values:
        msg = f"A file is sent as {', '.join(Upload.Purpose.values)}, not as {printable(purpose)!r}."
        raise UploadRefused(msg)
    if challenge is None:
        if purpose == Upload.Purpose.CHALLENGE and user.is_staff:
            if lacks_second_factor(user):
                raise PermissionDenied(SECOND_FACTOR)
            return
        msg = "Only those who run the site send files that belong to no challenge."
        raise PermissionDenied(msg)
    visit = Visit(user, challenge)
    if not visit.knows:
        raise Http404
    if phase:
        visit.phase(phase)
    if purpose not in (Upload.Purpose.SUBMISSION, Upload.Purpose.DOCUMENT):
        if why := refuse(visit, Door.ORGANISER):
            raise PermissionDenied(why)
        return
    if why := refuse(visit, Door.TEAM):
        raise PermissionDenied(why)
    visit.phase(phase)
    if purpose == Upload.Purpose.SUBMISSION and not (admission := visit.admission(phase)).yes:
        msg = f"Your team cannot submit to this phase: {admission.reason}."
        raise PermissionDenied(msg)


def _make_room(user: User, size: int) -> None:
    """See that neither this person nor all together have more on the way than there is room for."""
    waiting = Upload.objects.filter(taken=None)
    mine = waiting.filter(user=user)
    for idle in mine.filter(touched__lt=clock.now() - IDLE).order_by("touched"):
        if mine.count() < MOST_OPEN:
            break
        drop(idle)
    if mine.count() >= MOST_OPEN:
        msg = f"You have {MOST_OPEN} files on the way; finish or remove one of them first."
        raise UploadRefused(msg, 409)
    if (mine.aggregate(sum=Sum("size"))["sum"] or 0) + size > 2 * settings.MOST_UPLOAD_BYTES:
        msg = "Your files on the way are too large together; finish or remove one of them first."
        raise UploadRefused(msg, 409)
    # Who only announces a size keeps nobody out: it counts while pieces come, and no more than the next few of them.
    moving = waiting.filter(touched__gte=clock.now() - IDLE)
    promised = moving.aggregate(sum=Sum(Least(F("size") - F("received"), AHEAD)))["sum"] or 0
    if not _has_room(promised + size):
        msg = "The disk of the site is full, so the file was not taken. Tell the organisers; nothing is lost."
        raise UploadRefused(msg, 507)


def _has_room(size: int) -> bool:
    free: int = shutil.disk_usage(settings.DATA).free
    return free - size >= RESERVE


def _plain(name: str) -> str:
    """The last part of a name that a stranger gave, as it may be kept and shown."""
    return printable(PurePosixPath(name.replace("\\", "/")).name)[:_NAME] or "file"


def append(
    upload: Upload, stream: _Readable, *, offset: int, length: int, checksum: tuple[str, bytes] | None = None
) -> int:
    """Add a piece that begins at an offset, and return how much is there now.

    What came of a piece whose connection broke is kept. With the last one the hash of the whole is made.

    Parameters
    ----------
    checksum
        The name of a hash, and what it gives of the piece; a piece that it does not fit is thrown away.

    Raises
    ------
    UploadRefused
        409: the piece does not begin where the file ends. 410: the file was taken. 413: there are more bytes than were
        announced. 423: somebody else sends a piece just now. 460: the checksum does not fit. 507: the disk is full.
    """
    if upload.taken is not None:
        msg = "All of this file came, and it was used."
        raise UploadRefused(msg, 410)
    with _alone(path_of(upload)) as file:
        there = file.seek(0, os.SEEK_END)
        if offset != there:
            msg = f"The piece begins at byte {offset:,}, but {there:,} are there."
            raise UploadRefused(msg, 409)
        if there + length > upload.size:
            msg = f"The file was announced with {upload.size:,} bytes; with this piece it has {there + length:,}."
            raise UploadRefused(msg, 413)
        if not _has_room(length):
            raise UploadRefused(_FULL, 507)
        try:
            _copy(stream, file, there, checksum)
        finally:
            os.fsync(file.fileno())
            now_there = file.seek(0, os.SEEK_END)
            _keep(upload, received=now_there)
        if now_there == upload.size:
            finished(upload)
    return now_there


@contextmanager
def _alone(path: Path) -> Iterator[IO[bytes]]:
    """A file, open for adding, that nobody else writes to."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            msg = "Another connection sends a piece of this file just now; ask again in a moment."
            raise UploadRefused(msg, 423) from None
        yield file


def _copy(stream: _Readable, file: IO[bytes], start: int, checksum: tuple[str, bytes] | None) -> None:
    name, expected = checksum or ("sha256", b"")
    made = hashlib.new(name, usedforsecurity=False)
    try:
        while block := stream.read(_PIECE):
            made.update(block)
            file.write(block)
        file.flush()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        file.truncate(start)
        raise UploadRefused(_FULL, 507) from None
    if checksum is not None and made.digest() != expected:
        file.truncate(start)
        msg = "The piece was damaged on its way (its checksum does not fit) and is thrown away; send it again."
        raise UploadRefused(msg, 460)


def _keep(upload: Upload, **changed: Any) -> None:
    """Write into the row what is now known; one that was removed meanwhile takes its bytes along."""
    if not Upload.objects.filter(pk=upload.pk, taken=None).update(touched=clock.now(), **changed):
        path_of(upload).unlink(missing_ok=True)
        raise Http404
    for name, value in changed.items():
        setattr(upload, name, value)


def finished(upload: Upload) -> Upload:
    """The upload with the hash of its whole file, which must be there."""
    if upload.taken is not None:
        msg = "This file was used already."
        raise UploadRefused(msg, 410)
    if (there := offset_of(upload)) != upload.size:
        msg = f"The file is not complete: {there:,} of {upload.size:,} bytes came."
        raise UploadRefused(msg, 409)
    if not upload.sha256:
        _keep(upload, received=upload.size, sha256=files.sha256_of(path_of(upload)))
    return upload


def take(upload: Upload, name: str) -> Path:
    """Give a finished file its place by a name within the folder of data, and mark the upload as taken.

    Called in a transaction, the file is in both places until that is committed. When it is rolled back the upload is
    as before, and the caller removes what is at the new place.
    """
    finished(upload)
    source, target = path_of(upload), files.at(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    with transaction.atomic():
        now = clock.now()
        if not Upload.objects.filter(pk=upload.pk, taken=None).update(taken=now):
            msg = "This file was used already."
            raise UploadRefused(msg, 410)
        try:
            os.link(source, target)
        except FileExistsError:  # somebody was killed just here
            if not target.samefile(source):
                raise
        transaction.on_commit(lambda: source.unlink(missing_ok=True), robust=True)
    upload.taken = now
    return target


def drop(upload: Upload) -> None:
    """Remove an upload that was not taken."""
    with transaction.atomic():
        gone, _ = Upload.objects.filter(pk=upload.pk, taken=None).delete()
        if not gone:
            msg = "This file was used already."
            raise UploadRefused(msg, 410)
        transaction.on_commit(lambda: path_of(upload).unlink(missing_ok=True), robust=True)


def of_form(user: User, sent: UploadedFile, *, challenge: Challenge | None, phase: str, purpose: str) -> Upload:
    """The upload of a file that came whole with a form, from a browser without scripts."""
    most: int = settings.MOST_FORM_BYTES
    if (sent.size or 0) > most:
        msg = (
            f"The file has {sent.size:,} bytes; without JavaScript at most {most:,} can be sent. Use isocenter submit."
        )
        raise UploadRefused(msg, 413)
    upload = begin(user, challenge=challenge, phase=phase, purpose=purpose, name=sent.name or "", size=sent.size or 0)
    append(upload, sent, offset=0, length=upload.size)
    return upload


def tidy(now: datetime) -> int:
    """Remove what nobody waits for any more: uploads that stand still, and files that nothing points to.

    Returns how many files and rows were removed.
    """
    removed = 0
    for old in Upload.objects.filter(taken=None, touched__lt=now - KEPT):
        try:
            drop(old)
        except UploadRefused:  # taken at this very moment
            continue
        removed += 1
    removed += Upload.objects.filter(taken__lt=now - KEPT).delete()[0]
    waiting = {str(key) for key in Upload.objects.filter(taken=None).values_list("pk", flat=True)}
    kept = set(Submission.objects.values_list("file", flat=True))
    for path in _old_files("uploads/*", now):
        if path.name not in waiting:
            path.unlink(missing_ok=True)
            removed += 1
    for path in _old_files("submissions/*.zip", now):
        if f"submissions/{path.name}" not in kept:
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _old_files(pattern: str, now: datetime) -> list[Path]:
    """Files with which nothing was done for as long as an upload is kept: not written to, and given no other name."""
    latest = (now - KEPT).timestamp()
    found = files.at("uploads").parent.glob(pattern)
    return [path for path in found if path.is_file() and path.stat().st_ctime < latest]
