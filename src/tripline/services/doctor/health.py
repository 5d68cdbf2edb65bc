"""The health of an installation as a running server sees it: its own dependencies and the backlog in its store.

Not here: slow checks such as reading a whole file for damage, and checks of the data folder
(`maintenance/installation.py`).
"""

from typing import Final

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.ports.clocks import Clock
from tripline.services import readiness
from tripline.services.doctor import doctor, shared_store
from tripline.services.doctor.doctor import Finding, Report
from tripline.store.database import inspection
from tripline.store.transactions import ReadTx

_CERTIFICATE: Final = "certificate"


def examined(tx: ReadTx, *, actor: Actor, ready: readiness.Report, clock: Clock) -> Report:
    """Return the findings, the ones to repair first. Raises `Forbidden`."""
    access.scope_of(actor, Action.INSTALLATION_READ)
    findings = [
        Finding(check.name, check.well, check.said, check.remedy)
        for check in ready.checks
        if check.name != _CERTIFICATE
    ]
    findings += doctor.maps(ready.lost_maps)
    findings += doctor.road_server(ready.road_server)
    if ready.certificate_end_ms is not None:
        findings.append(doctor.certificate(ready.certificate_end_ms, now_ms=clock()))
    findings += doctor.authority(ready.authority_end_ms, now_ms=clock())
    if tx.shared:
        findings += shared_store.about(inspection.look(tx, clock=clock))
    report = doctor.reported(tx, findings, now_ms=clock())
    return Report(sorted(report.findings, key=_urgency), report.rejected, report.newest)


def _urgency(finding: Finding) -> int:
    return 0 if not finding.well else 1 if finding.noted else 2
