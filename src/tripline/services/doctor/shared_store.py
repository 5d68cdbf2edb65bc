"""The findings of `tripline doctor` on a shared database and the processes that use it.

Not here: the rows that wait in tables (`doctor.py`), the statements (`store/database/inspection.py`).
"""

from typing import Final

from tripline.ports import Fault, StoreOutage
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
    Fault.AWAY: "see whether the server runs and is reached",
    Fault.FULL: "make room on the server's disk",
    Fault.READ_ONLY: "give the address of the primary",
    Fault.DISK: "look at the server's disk and log",
    Fault.DAMAGED: "the server's log names the relation; restore it from a base backup or a standby",
}


def failed(outage: StoreOutage) -> Finding:
    """The database did not answer what was asked of it."""
    return unusable(f"{outage}; {_REMEDIES[outage.fault]}")


def unusable(why: str) -> Finding:
    """The database cannot be asked."""
    return Finding("database", False, why)


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
    text = f"PostgreSQL {seen.server.version_text}, {seen.server.encoding}"
    if seen.checksum_failures:
        text += (
            f"; damaged: reads that met a wrong checksum: {seen.checksum_failures}. The server's log names the"
            " relation; restore it from a base backup or a standby, then call pg_stat_reset()"
        )
    return Finding("database", not seen.checksum_failures, text)


def _connections(seen: Shared) -> Finding:
    text = f"{seen.connections} of {seen.connections_allowed} used"
    if seen.connections >= FULL * seen.connections_allowed:
        return Finding("connections", False, f"{text}; raise max_connections, or lower store.readers and store.writers")
    return Finding("connections", True, text)


def _clock(seen: Shared) -> Finding:
    if abs(seen.ahead_ms) > SKEW_MS:
        way = "ahead of" if seen.ahead_ms > 0 else "behind"
        text = f"this machine is {abs(seen.ahead_ms) / 1000:.1f} s {way} the database; let NTP set both"
        return Finding("clock", False, text)
    return Finding("clock", True, f"this machine and the database differ by {abs(seen.ahead_ms)} ms")


def _partitions(seen: Shared) -> Finding:
    aside = ""
    if seen.aside:
        more = " or more" if seen.aside >= ASIDE_COUNTED else ""
        aside = f"; {seen.aside}{more} rows are in no week's partition"
    soon = sorted({each.start_ms for each in seen.partitions_wanted})[:NEEDED]
    late = tuple(each.name for each in seen.partitions_missing if each.start_ms in soon)
    if late:
        return Finding("partitions", False, f"{len(late)} are missing{aside}; run `tripline migrate`", late)
    return Finding("partitions", True, f"those of this week and the next are there{aside}")


def _nodes(seen: Shared) -> Finding:
    details = tuple(_line(node) for node in seen.nodes)
    servers = [node for node in seen.nodes if node.roles != COMMAND]
    alive = [node for node in servers if node.silent_ms < SILENT_MS]
    if servers and not alive:
        return Finding("processes", False, "none runs any more, and these were not stopped; start them again", details)
    if not alive:
        return Finding("processes", True, "none runs", details)
    done = {role for node in alive for role in node.roles.split(",")}
    idle = [] if "all" in done else [role for role in ROLES if role not in done]
    if idle:
        return Finding("processes", False, f"{len(alive)} run, none of them as {' or '.join(idle)}", details)
    return Finding("processes", True, f"{len(alive)} run", details)


def _line(node: Node) -> str:
    silent = "" if node.silent_ms < SILENT_MS else f", silent for {node.silent_ms // 1000} s"
    return f"{node.name}: {node.roles}, for {node.age_ms // 60_000} minutes{silent}"
