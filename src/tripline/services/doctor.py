"""The findings of `tripline doctor` about a data folder, with or without a running server.

The caller measures the disk, the certificate and damage; this module judges them and the store's contents.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from tripline.domain import access
from tripline.domain.access import Action, Actor, Scope
from tripline.domain.ids import CompanyId
from tripline.domain.instants import DAY_MS
from tripline.domain.pushes import Channel
from tripline.domain.refusals import Value
from tripline.domain.scores import WhyNot
from tripline.language import kept, phrases
from tripline.language.phrases import Phrase, phrase, verbatim
from tripline.ports.clocks import Clock
from tripline.ports.maps import LostMap, RoadServer
from tripline.ports.outages import Fault, StoreOutage
from tripline.scoring import quality
from tripline.scoring.quality import Unit
from tripline.store import reach
from tripline.store.accounts import mail_outbox
from tripline.store.database import inspection
from tripline.store.database.inspection import ASIDE_COUNTED, Node, Shared
from tripline.store.ingest import rejected
from tripline.store.ingest.rejected import Refused
from tripline.store.push import parked as push_parked
from tripline.store.push import receiver_state
from tripline.store.reach import Kind
from tripline.store.scores import scores
from tripline.store.transactions import ReadTx, Store, WriteTx

if TYPE_CHECKING:
    from tripline.services import readiness  # its metrics are a server's

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

_UNITS: Final = {
    Unit.MPH: "doctor.scoring.mph",
    Unit.KNOTS: "doctor.scoring.knots",
    Unit.METRES_PER_SECOND: "doctor.scoring.metres_per_second",
    Unit.TENTHS: "doctor.scoring.tenths",
    Unit.CENTIMETRES_PER_SECOND: "doctor.scoring.centimetres_per_second",
    Unit.MILLIMETRES_PER_SECOND: "doctor.scoring.millimetres_per_second",
    Unit.NOTHING: "doctor.scoring.nothing",
    None: "doctor.scoring.unknown",
}


class Surroundings(msgspec.Struct, frozen=True):
    """Measurements made outside the database."""

    database: str
    """The file."""
    schema: str | None
    newest_schema: str
    damage: list[str]
    unwritable: str | None
    """Why nothing can be written to the database, after a wait; None: it can."""
    read_only: bool
    """The file system is mounted read-only, so nothing could be examined."""
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
    said: tuple[Phrase, ...]
    remedy: Phrase | None = None
    details: tuple[tuple[Phrase, ...], ...] = ()
    """Lines that go below it."""
    noted: bool = False
    """The finding is well but deserves attention."""

    @property
    def text(self) -> str:
        """The finding and its remedy, in English."""
        return phrases.said(self.said if self.remedy is None else (*self.said, self.remedy))

    @property
    def lines(self) -> tuple[str, ...]:
        """The details in English."""
        return tuple(phrases.said(each) for each in self.details)


class Report(msgspec.Struct, frozen=True):
    """The findings, and the rejected-message log in numbers and by its newest entries."""

    findings: list[Finding]
    rejected: dict[str, int] | None = None
    """None if the database could not be read."""
    newest: Sequence[Refused] = ()

    @property
    def well(self) -> bool:
        """True if nothing needs repair. Rejected messages concern the devices and do not count."""
        return all(finding.well for finding in self.findings)


def about(surroundings: Surroundings, *, now_ms: int) -> list[Finding]:
    """The findings that need no look into the tables."""
    return [
        # A damaged or unreadable file has no known schema version.
        *(
            []
            if surroundings.damage or surroundings.read_only or (not surroundings.schema and surroundings.unwritable)
            else [schema(surroundings.schema, surroundings.newest_schema)]
        ),
        _damage(surroundings),
        _disk(surroundings),
        certificate(surroundings.certificate_end_ms, now_ms=now_ms),
        *authority(surroundings.authority_end_ms, now_ms=now_ms),
    ]


def reported(tx: ReadTx, findings: Iterable[Finding], *, now_ms: int) -> Report:
    """Report these findings together with those about waiting rows."""
    everything = Scope.everything("doctor: rejected messages of all companies")
    return Report(
        [*findings, _jobs(tx, now_ms), *_speeds(tx), _mails(tx), _pushes(tx, now_ms)],
        rejected.counts(tx, everything, since_ms=0),
        rejected.newest(tx, everything, limit=NEWEST),
    )


def schema(version: str | None, newest: str) -> Finding:
    """Check that the database has the schema of this program."""
    if version == newest:
        return Finding("schema", True, (phrase("doctor.schema.newest", version=version),))
    if version is not None and version > newest:
        foreign = phrase("doctor.schema.foreign", version=version, newest=newest)
        return Finding("schema", False, (foreign,), phrase("doctor.schema.foreign.mend"))
    other = phrase("doctor.schema.another", version=version or "none", newest=newest)
    return Finding("schema", False, (other,), phrase("doctor.schema.mend"))


def _damage(seen: Surroundings) -> Finding:
    if seen.read_only:
        what = phrase("doctor.database.read_only", database=seen.database)
        return Finding("database", False, (what,), phrase("doctor.database.read_only.mend"))
    if seen.damage:
        what = phrase("doctor.database.damaged", database=seen.database, found=seen.damage[0].splitlines()[0])
        return Finding("database", False, (what,), phrase("doctor.database.damaged.mend"))
    if seen.unwritable:
        what = phrase("doctor.database.unwritable", why=seen.unwritable)
        return Finding("database", False, (what,), phrase("doctor.database.unwritable.mend"))
    return Finding("database", True, (phrase("doctor.database.sound"),))


def _disk(seen: Surroundings) -> Finding:
    free = phrase("doctor.disk.free", free=f"{seen.free_bytes / 2**30:.1f}")
    if seen.free_bytes < seen.reserve_bytes:
        return Finding("disk", False, (free,), phrase("doctor.disk.mend"))
    return Finding("disk", True, (free,))


def certificate(end_ms: int | None, *, now_ms: int) -> Finding:
    """Check that the certificate remains valid; None: no certificate."""
    if end_ms is None:
        return Finding("certificate", True, (phrase("doctor.certificate.none"),))
    days = (end_ms - now_ms) // DAY_MS
    if days < 0:
        ended = phrase("doctor.certificate.ended", days=-days)
        return Finding("certificate", False, (ended, phrase("doctor.certificate.refused")))
    ends = phrase("doctor.ends", n=days)
    if days < CERTIFICATE_DAYS:
        return Finding("certificate", False, (ends,), phrase("doctor.certificate.mend"))
    return Finding("certificate", True, (ends,))


def authority(end_ms: int | None, *, now_ms: int) -> list[Finding]:
    """Check if devices need the successor of our own authority yet; empty if not."""
    days = ((end_ms or now_ms) - now_ms) // DAY_MS
    if end_ms is None or days >= AUTHORITY_TOLD_DAYS:
        return []
    ends, mend = phrase("doctor.ends", n=days), phrase("doctor.authority.mend")
    return [Finding("authority", days >= AUTHORITY_DAYS, (ends,), mend, noted=True)]


def maps(lost: Sequence[LostMap]) -> list[Finding]:
    """The maps that cannot be read; nothing when all can."""
    return [
        Finding(
            "maps",
            False,
            (phrase("doctor.maps.lost", name=each.name, why=kept.phrase_of(each.why)),),
            phrase("doctor.maps.mend", name=each.name),
        )
        for each in lost
    ]


def road_server(seen: RoadServer | None) -> list[Finding]:
    """Check the server that matches roads; empty if none is configured."""
    if seen is None:
        return []
    if not seen.trouble:
        return [Finding("roads", True, (phrase("doctor.roads.well"),))]
    follows = phrase("doctor.roads.away", joint=" ")
    return [Finding("roads", False, (kept.phrase_of(seen.trouble), follows), phrase("doctor.roads.mend", joint=" "))]


def base_map(why: str | None) -> list[Finding]:
    """Check that the base map can be displayed; empty if it can (`why` is None)."""
    if why is None:
        return []
    said = phrase("doctor.base_map.unreadable", why=why)
    return [Finding("base map", False, (said,), phrase("doctor.base_map.mend"))]


def _jobs(tx: ReadTx, now_ms: int) -> Finding:
    jobs = scores.backlog(tx, due_before_ms=now_ms - LATE_MS)
    waiting = phrase("doctor.scoring.wait", n=jobs.waiting) if jobs.waiting else phrase("doctor.scoring.idle")
    late = (phrase("doctor.scoring.late", joint=", ", overdue=jobs.overdue),) if jobs.overdue else ()
    reasons = scores.why_not(tx)
    without = (phrase("doctor.scoring.without", n=sum(reasons.values())),) if reasons else ()
    details = tuple((phrase("doctor.scoring.why", n=count, why=_why(each)),) for each, count in reasons.items())
    return Finding("scoring", not jobs.overdue, (waiting, *late, *without, *_error(jobs.last_error)), None, details)


def _why(reason: str) -> Value:
    """The reason as a translatable value; unknown reasons of other versions unchanged."""
    return next((each for each in WhyNot if each.value == reason), reason)


def _speeds(tx: ReadTx) -> Iterator[Finding]:
    """Devices that seem to report speeds in another unit: their trips get no score."""
    refused = scores.implausible(tx)
    if not refused:
        return
    ratios = (quality.read(body).speed_ratio for body in refused)
    keys = (_UNITS[None if ratio is None else quality.likely(ratio)] for ratio in ratios)
    details = tuple((phrase(key, count=count),) for key, count in sorted(Counter(keys).items()))
    said = (phrase("doctor.scoring.implausible", n=len(refused)),)
    yield Finding("scoring", True, said, None, details, noted=True)


def _pushes(tx: ReadTx, now_ms: int) -> Finding:
    pushes = push_parked.counts(tx)
    said = [phrase("doctor.push.wait", n=pushes.waiting) if pushes.waiting else phrase("doctor.push.idle")]
    if pushes.oldest_ms is not None:
        said.append(phrase("doctor.push.oldest", joint=", ", minutes=_minutes(pushes.oldest_ms, now_ms)))
    if pushes.parked:
        said.append(phrase("doctor.push.parked", joint=", ", parked=pushes.parked))
        said += _error(pushes.last_error, "doctor.push.parked.error")
    if pushes.unconfirmed:
        said.append(phrase("doctor.push.unconfirmed", unconfirmed=pushes.unconfirmed))
    details = (*_mute(tx, now_ms), *_receivers(tx, now_ms))
    return Finding("push", True, tuple(said), None, details, noted=bool(details or pushes.parked))


def _mute(tx: ReadTx, now_ms: int) -> Iterator[tuple[Phrase, ...]]:
    """Receivers that accept messages but never confirm them."""
    mute = receiver_state.mute(tx)
    for each in mute[:NEWEST]:
        minutes = _minutes(each.since_ms, now_ms)
        yield (
            *_receiver(each.channel, each.company_name, each.company_id),
            phrase("doctor.push.mute", joint=": ", minutes=minutes, unconfirmed=each.unconfirmed),
        )
    if len(mute) > NEWEST:
        yield (phrase("doctor.push.mute.more", n=len(mute) - NEWEST),)


def _receivers(tx: ReadTx, now_ms: int) -> Iterator[tuple[Phrase, ...]]:
    """Receivers that do not accept messages."""
    behind = [each for each in push_parked.backlogs(tx) if each.last_error or now_ms - each.oldest_ms >= _MS_PER_MINUTE]
    for each in behind[:NEWEST]:
        minutes = _minutes(each.oldest_ms, now_ms)
        yield (
            *_receiver(each.channel, each.company_name, each.company_id),
            phrase("doctor.push.behind", joint=": ", n=each.waiting, minutes=minutes),
            *_error(each.last_error),
        )
    if len(behind) > NEWEST:
        yield (phrase("doctor.push.behind.more", more=len(behind) - NEWEST),)


def _receiver(channel: Channel, name: str | None, company_id: CompanyId) -> tuple[Phrase, ...]:
    if name is None:
        return (phrase("doctor.push.receiver.gone", channel=channel.published, id=company_id),)
    return (phrase("doctor.push.receiver", channel=channel.published, company=name, id=company_id),)


def _minutes(since_ms: int, now_ms: int) -> int:
    return max(0, now_ms - since_ms) // _MS_PER_MINUTE


def _mails(tx: ReadTx) -> Finding:
    mails = mail_outbox.waiting(tx)
    waiting = phrase("doctor.mail.wait", n=mails.waiting) if mails.waiting else phrase("doctor.mail.idle")
    if mails.parked:
        parked = phrase("doctor.mail.parked", joint=", ", parked=mails.parked)
        return Finding("mail", False, (waiting, parked, *_error(mails.last_error)), phrase("doctor.mail.mend"))
    return Finding("mail", True, (waiting, *_error(mails.last_error)))


def _error(last: str | None, name: str = "doctor.last_error") -> tuple[Phrase, ...]:
    return (phrase(name), kept.phrase_of(last, joint=" ")) if last else ()


async def checked(store: Store, *, repair: bool) -> Finding:
    """Compare every row with the fleet, some vehicles and sensors a transaction; `repair` writes rows that differ.
    Raises `Outage`."""
    found = 0
    for kind in Kind:
        after: str | None = ""
        while after is not None:
            ids, wrong = await store.read(partial(_behind, kind=kind, after=after))
            found += wrong
            if wrong and repair:
                await store.write(partial(_refresh, kind=kind, ids=ids))
            after = ids[-1] if ids else None
    while ids := await store.read(reach.orphans):
        found += len(ids)
        if not repair:
            break
        await store.write(partial(_refresh, kind=Kind.VEHICLE, ids=ids))
    return _finding(found, repaired=repair)


def _behind(tx: ReadTx, kind: Kind, after: str) -> tuple[list[str], int]:
    ids = reach.behind(tx, kind, after)
    return ids, reach.wrong(tx, kind, ids) if ids else 0


def _refresh(tx: WriteTx, kind: Kind, ids: list[str]) -> int:
    return reach.refresh(tx, ids) if kind is Kind.VEHICLE else reach.refresh(tx, sensor_ids=ids)


def _finding(found: int, *, repaired: bool) -> Finding:
    if not found:
        return Finding("reach", True, (phrase("doctor.reach.well"),))
    if repaired:
        return Finding("reach", True, (phrase("doctor.reach.repaired", n=found),), noted=True)
    return Finding("reach", False, (phrase("doctor.reach.wrong", n=found),), phrase("doctor.reach.mend"))


_CERTIFICATE: Final = "certificate"


def examined(tx: ReadTx, *, actor: Actor, ready: "readiness.Report", clock: Clock) -> Report:
    """Return the findings, the ones to repair first. Raises `Forbidden`."""
    access.scope_of(actor, Action.INSTALLATION_READ)
    findings = [check for check in ready.checks if check.subject != _CERTIFICATE]
    findings += maps(ready.lost_maps)
    findings += road_server(ready.road_server)
    if ready.certificate_end_ms is not None:
        findings.append(certificate(ready.certificate_end_ms, now_ms=clock()))
    findings += authority(ready.authority_end_ms, now_ms=clock())
    if tx.shared:
        findings += about_shared(inspection.look(tx, clock=clock))
    report = reported(tx, findings, now_ms=clock())
    urgent_first = sorted(report.findings, key=lambda each: 0 if not each.well else 1 if each.noted else 2)
    return Report(urgent_first, report.rejected, report.newest)


SILENT_MS: Final = 10_000
"""A process that says nothing for so long is taken for dead by the others."""
SKEW_MS: Final = 1_000
"""Row numbers are instants, so the clocks of all machines have to agree."""
FULL: Final = 0.9
"""Share of the server's connections."""
NEEDED: Final = 2
"""Weeks that need their partitions before long: this one and the next."""
ROLES: Final = ("api", "gateway", "worker")
COMMAND: Final = "command"
"""The role of a command at work beside the servers."""


_REMEDIES: Final = {
    Fault.AWAY: phrase("doctor.store.away"),
    Fault.FULL: phrase("doctor.store.full"),
    Fault.READ_ONLY: phrase("doctor.store.read_only"),
    Fault.DISK: phrase("doctor.store.disk"),
    Fault.DAMAGED: phrase("doctor.store.damaged"),
}


def failed_shared(outage: StoreOutage) -> Finding:
    """The database failed during a query."""
    return Finding("database", False, (kept.phrase_of(str(outage)),), _REMEDIES[outage.fault])


def unusable_shared(why: str) -> Finding:
    """The database cannot be queried."""
    return Finding("database", False, (verbatim(why),))


def about_shared(seen: Shared) -> list[Finding]:
    """The findings about server, clock, partitions and processes."""
    return [_database(seen), _connections(seen), _clock(seen), _partitions(seen), _nodes(seen)]


def _database(seen: Shared) -> Finding:
    server = verbatim(f"PostgreSQL {seen.server.version_text}, {seen.server.encoding}")
    if seen.checksum_failures:
        damaged = phrase("doctor.database.checksums", count=seen.checksum_failures)
        return Finding("database", False, (server, damaged), phrase("doctor.database.checksums.mend", joint=" "))
    return Finding("database", True, (server,))


def _connections(seen: Shared) -> Finding:
    used = (phrase("doctor.connections.used", used=seen.connections, allowed=seen.connections_allowed),)
    if seen.connections >= FULL * seen.connections_allowed:
        return Finding("connections", False, used, phrase("doctor.connections.mend"))
    return Finding("connections", True, used)


def _clock(seen: Shared) -> Finding:
    if abs(seen.ahead_ms) > SKEW_MS:
        seconds = f"{abs(seen.ahead_ms) / 1000:.1f}"
        ahead = seen.ahead_ms > 0
        off = phrase("doctor.clock.ahead", seconds=seconds) if ahead else phrase("doctor.clock.behind", seconds=seconds)
        return Finding("clock", False, (off,), phrase("doctor.clock.mend"))
    return Finding("clock", True, (phrase("doctor.clock.differ", ms=abs(seen.ahead_ms)),))


def _partitions(seen: Shared) -> Finding:
    aside: tuple[Phrase, ...] = ()
    if seen.aside >= ASIDE_COUNTED:
        aside = (phrase("doctor.partitions.aside.more", rows=seen.aside),)
    elif seen.aside:
        aside = (phrase("doctor.partitions.aside", n=seen.aside),)
    soon = sorted({each.start_ms for each in seen.partitions_wanted})[:NEEDED]
    late = tuple((verbatim(each.name),) for each in seen.partitions_missing if each.start_ms in soon)
    if late:
        missing = phrase("doctor.partitions.missing", n=len(late))
        return Finding("partitions", False, (missing, *aside), phrase("doctor.schema.mend"), late)
    return Finding("partitions", True, (phrase("doctor.partitions.there"), *aside))


def _nodes(seen: Shared) -> Finding:
    details = tuple(_line(node) for node in seen.nodes)
    servers = [node for node in seen.nodes if node.roles != COMMAND]
    alive = [node for node in servers if node.silent_ms < SILENT_MS]
    if servers and not alive:
        return Finding(
            "processes", False, (phrase("doctor.processes.gone"),), phrase("doctor.processes.gone.mend"), details
        )
    if not alive:
        return Finding("processes", True, (phrase("doctor.processes.none"),), None, details)
    run = phrase("doctor.processes.run", count=len(alive))
    done = {role for node in alive for role in node.roles.split(",")}
    idle = tuple(role for role in ROLES if role not in done)
    if idle and "all" not in done:
        return Finding(
            "processes", False, (run, phrase("doctor.processes.idle", joint=", ", roles=idle)), None, details
        )
    return Finding("processes", True, (run,), None, details)


def _line(node: Node) -> tuple[Phrase, ...]:
    line = phrase("doctor.processes.line", name=node.name, roles=node.roles, minutes=node.age_ms // 60_000)
    if node.silent_ms < SILENT_MS:
        return (line,)
    return line, phrase("doctor.processes.silent", joint=", ", seconds=node.silent_ms // 1000)
