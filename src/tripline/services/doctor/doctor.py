"""Is this installation well? What `tripline doctor` says about a data folder, beside a running server or without one.

The caller measures what lies outside the database (disk, certificate, damage); the verdicts are made here, those about
a shared database and its processes in `shared_store.py`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from tripline.domain.access import Scope
from tripline.domain.pushes import MUTE
from tripline.store.accounts import mail_outbox
from tripline.store.ingest import rejected
from tripline.store.ingest.rejected import Refused
from tripline.store.push import parked as push_parked
from tripline.store.push import receivers as push_receivers
from tripline.store.scores import scores
from tripline.store.transactions import ReadTx

_MS_PER_DAY: Final = 86_400_000
_MS_PER_MINUTE: Final = 60_000
LATE_MS: Final = 300_000
"""A scoring job this long overdue means that no scorer works."""
CERTIFICATE_DAYS: Final = 14
"""A certificate of our own is renewed 30 days ahead; below this someone has to act."""
AUTHORITY_TOLD_DAYS: Final = 730
"""Our own authority has a successor from then on."""
AUTHORITY_DAYS: Final = 90
"""The successor takes over 30 days before the end; below this every device should have been given it."""
NEWEST: Final = 10


class Surroundings(msgspec.Struct, frozen=True):
    """What was measured outside the database."""

    database: str
    """The file."""
    schema: str | None
    newest_schema: str
    damage: list[str]
    unwritable: str | None
    """Why nothing can be written to the database, after a wait; None: it can."""
    read_only: bool
    """Whether its file system is mounted read-only: then nothing could be looked at."""
    free_bytes: int
    reserve_bytes: int
    """How much should be free (`store.reserve_mib`)."""
    certificate_end_ms: int | None
    """None: no certificate was made yet."""
    authority_end_ms: int | None = None
    """When our own authority ends; None: the certificate is not of our own."""


class Finding(msgspec.Struct, frozen=True):
    """One line of the report."""

    subject: str
    well: bool
    text: str
    details: tuple[str, ...] = ()
    """Lines that go below it."""


class Report(msgspec.Struct, frozen=True):
    """The findings, and the rejected-message log in numbers and by its newest entries."""

    findings: list[Finding]
    rejected: dict[str, int] | None = None
    """None: the database could not be asked."""
    newest: Sequence[Refused] = ()

    @property
    def well(self) -> bool:
        """Whether nothing has to be mended. Rejected messages are the devices' affair and do not count."""
        return all(finding.well for finding in self.findings)


def about(surroundings: Surroundings, *, now_ms: int) -> list[Finding]:
    """The findings that need no look into the tables."""
    return [
        # Of a file that is damaged or cannot be opened nobody can say which schema it has.
        *(
            []
            if surroundings.damage or surroundings.read_only
            else [schema(surroundings.schema, surroundings.newest_schema)]
        ),
        _damage(surroundings),
        _disk(surroundings),
        certificate(surroundings.certificate_end_ms, now_ms=now_ms),
        *authority(surroundings.authority_end_ms, now_ms=now_ms),
    ]


def examine(tx: ReadTx, *, surroundings: Surroundings, now_ms: int) -> Report:
    """The whole report of a database of the present schema."""
    return reported(tx, about(surroundings, now_ms=now_ms), now_ms=now_ms)


def reported(tx: ReadTx, findings: Iterable[Finding], *, now_ms: int) -> Report:
    """These findings, and those about what waits in the tables."""
    everything = Scope.everything("doctor: rejected messages of all companies")
    return Report(
        [*findings, _jobs(tx, now_ms), _mails(tx), _pushes(tx, now_ms)],
        rejected.counts(tx, everything, since_ms=0),
        rejected.newest(tx, everything, limit=NEWEST),
    )


def schema(version: str | None, newest: str) -> Finding:
    """Whether the database has the schema of this program."""
    if version == newest:
        return Finding("schema", True, f"version {version}, the newest")
    return Finding("schema", False, f"version {version or 'none'}, not {newest}; run `tripline migrate`")


def damaged(database: str, found: str) -> str:
    """What is to be done with a damaged file."""
    return (
        f"{database} is damaged: {found.splitlines()[0]}; stop the server, keep a copy of the file and of those beside"
        " it that end in -wal and -shm, then put back a copy from before, or save what can be read with"
        " `sqlite3 ... .dump` (docs/operating.md, The database is damaged)"
    )


def _damage(seen: Surroundings) -> Finding:
    if seen.read_only:
        text = f"{seen.database} is on a read-only file system; mount it for writing, then look again"
        return Finding("database", False, text)
    if seen.damage:
        return Finding("database", False, damaged(seen.database, seen.damage[0]))
    if seen.unwritable:
        text = f"nothing can be written: {seen.unwritable}; see who else has the file open, and its owner and mode"
        return Finding("database", False, text)
    return Finding("database", True, "sound")


def _disk(seen: Surroundings) -> Finding:
    free = f"{seen.free_bytes / 2**30:.1f} GiB free"
    if seen.free_bytes < seen.reserve_bytes:
        return Finding("disk", False, f"{free}; make room before the store stops")
    return Finding("disk", True, free)


def certificate(end_ms: int | None, *, now_ms: int) -> Finding:
    """Whether devices can go on trusting the certificate; None: there is none."""
    if end_ms is None:
        return Finding("certificate", True, "none yet; the first start makes one")
    days = (end_ms - now_ms) // _MS_PER_DAY
    if days < 0:
        return Finding("certificate", False, f"ended {-days} days ago; devices refuse to connect")
    if days < CERTIFICATE_DAYS:
        return Finding("certificate", False, f"ends in {days} days; a server renews its own, or logs tls.not_renewed")
    return Finding("certificate", True, f"ends in {days} days")


def authority(end_ms: int | None, *, now_ms: int) -> list[Finding]:
    """Whether devices need the successor of our own authority by now; nothing when there is no need yet."""
    days = ((end_ms or now_ms) - now_ms) // _MS_PER_DAY
    if end_ms is None or days >= AUTHORITY_TOLD_DAYS:
        return []
    text = f"ends in {days} days; ca.crt holds its successor too: give that file to every device before"
    return [Finding("authority", days >= AUTHORITY_DAYS, text)]


def _jobs(tx: ReadTx, now_ms: int) -> Finding:
    jobs = scores.backlog(tx, due_before_ms=now_ms - LATE_MS)
    error = f"; last error: {jobs.last_error}" if jobs.last_error else ""
    if jobs.overdue:
        return Finding("scoring", False, f"{jobs.waiting} jobs wait, {jobs.overdue} of them too long{error}")
    return Finding("scoring", True, f"{jobs.waiting} jobs wait{error}")


def _pushes(tx: ReadTx, now_ms: int) -> Finding:
    pushes = push_parked.counts(tx)
    text = f"{pushes.waiting} messages to customers' servers wait"
    if pushes.oldest_ms is not None:
        text += f", the oldest for {_minutes(pushes.oldest_ms, now_ms)} minutes"
    if pushes.parked:
        text += f", {pushes.parked} given up (see `tripline push list`)"
        text += f"; last error: {pushes.last_error}" if pushes.last_error else ""
    if pushes.unconfirmed:
        text += f"; {pushes.unconfirmed} delivered, unconfirmed"
    return Finding("push", True, text, (*_mute(tx, now_ms), *_receivers(tx, now_ms)))


def _mute(tx: ReadTx, now_ms: int) -> Iterator[str]:
    """Those that take what is sent to them and never answer."""
    mute = push_receivers.mute(tx)
    for each in mute[:NEWEST]:
        yield (
            f"{each.channel.published} of {each.company_name or 'a company that is gone'} ({each.company_id}):"
            f" {MUTE}, for {_minutes(each.since_ms, now_ms)} minutes;"
            f" {each.unconfirmed} messages delivered, unconfirmed"
        )
    if len(mute) > NEWEST:
        yield f"and {len(mute) - NEWEST} more that never answer"


def _receivers(tx: ReadTx, now_ms: int) -> Iterator[str]:
    """Those who do not take what is sent to them."""
    behind = [each for each in push_parked.backlogs(tx) if each.last_error or now_ms - each.oldest_ms >= _MS_PER_MINUTE]
    for each in behind[:NEWEST]:
        error = f"; last error: {each.last_error}" if each.last_error else ""
        yield (
            f"{each.channel.published} of {each.company_name or 'a company that is gone'} ({each.company_id}):"
            f" {each.waiting} wait, the oldest for {_minutes(each.oldest_ms, now_ms)} minutes{error}"
        )
    if len(behind) > NEWEST:
        yield f"and {len(behind) - NEWEST} more"


def _minutes(since_ms: int, now_ms: int) -> int:
    return max(0, now_ms - since_ms) // _MS_PER_MINUTE


def _mails(tx: ReadTx) -> Finding:
    mails = mail_outbox.waiting(tx)
    error = f"; last error: {mails.last_error}" if mails.last_error else ""
    if mails.parked:
        mend = "mend what stands in the way and restart, then they are tried once more"
        return Finding("mail", False, f"{mails.waiting} mails wait, {mails.parked} parked{error}; {mend}")
    return Finding("mail", True, f"{mails.waiting} mails wait{error}")
