"""The findings of `tripline doctor` on a shared database and the processes that use it.

Not here: the rows that wait in tables (`doctor.py`), the statements (`store/database/inspection.py`).
"""

from typing import Final

from tripline.language import kept
from tripline.language.phrases import Phrase, phrase, verbatim
from tripline.ports.outages import Fault, StoreOutage
from tripline.services.doctor.doctor import Finding
from tripline.store.database.inspection import ASIDE_COUNTED, Node, Shared

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


def failed(outage: StoreOutage) -> Finding:
    """The database failed during a query."""
    return Finding("database", False, (kept.phrase_of(str(outage)),), _REMEDIES[outage.fault])


def unusable(why: str) -> Finding:
    """The database cannot be queried."""
    return Finding("database", False, (verbatim(why),))


def about(seen: Shared) -> list[Finding]:
    """The findings about server, clock, partitions and processes."""
    return [
        _database(seen),
        _connections(seen),
        _clock(seen),
        _partitions(seen),
        _nodes(seen),
    ]


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
