"""Notifications of other parts of the program after a commit.

A use case returns the notifications of its change; the code that opened the transaction sends them after the commit,
since listeners read the rows at once. A lost notification costs time alone (`ports.signals.Signals`).
"""

from collections.abc import Iterable
from typing import Final, TypeAlias

from tripline import observe
from tripline.domain.ids import CompanyId, RequestId, SensorId, VehicleId
from tripline.ports.signals import Signals

Notification: TypeAlias = tuple[str, str]
"""A subject and its detail."""

PUSH_DUE: Final = ((observe.SIGNAL_PUSH_DUE, ""),)
"""Messages wait for customers' servers."""
RESEND_DUE: Final = ((observe.SIGNAL_RESEND_DUE, ""),)
"""Messages may be waiting to be resent."""
MAIL_DUE: Final = ((observe.SIGNAL_MAIL_DUE, ""),)
"""A mail waits to be sent."""
SCORING_DUE: Final = ((observe.SIGNAL_SCORING_DUE, ""),)
"""Trips wait to be scored."""
RESCORING_DUE: Final = ((observe.SIGNAL_RESCORING_DUE, ""),)
"""Trips wait to be rescored."""
IMPORT_DUE: Final = ((observe.SIGNAL_IMPORT_DUE, ""),)
"""A draft of an import waits to be checked or registered."""


def send(signals: Signals, notifications: Iterable[Notification]) -> None:
    """Send the notifications in order."""
    for subject, detail in notifications:
        signals.notify(subject, detail)


def sensors_changed(sensor_ids: Iterable[SensorId]) -> tuple[Notification, ...]:
    """These have another vehicle, driver or type, or were deleted: the pipeline reloads them."""
    return tuple((observe.SIGNAL_SENSOR_CHANGED, sensor_id) for sensor_id in sensor_ids)


def credential_ended(sensor_id: SensorId) -> tuple[Notification, ...]:
    """The sensor's access token became invalid: the gateway disconnects sessions that used it."""
    return ((observe.SIGNAL_CREDENTIAL_ENDED, sensor_id),)


def sessions_began(began: Iterable[tuple[SensorId, int]]) -> tuple[Notification, ...]:
    """Devices connected to another gateway: older sessions have ended."""
    return tuple((observe.SIGNAL_SESSION_BEGAN, f"{sensor_id} {session_no}") for sensor_id, session_no in began)


def vehicles_moved(vehicle_ids: Iterable[VehicleId]) -> tuple[Notification, ...]:
    """Newer positions of these vehicles were written."""
    return ((observe.SIGNAL_VEHICLES_MOVED, " ".join(vehicle_ids)),)


def company_changed(company_id: CompanyId) -> tuple[Notification, ...]:
    """A company was changed or deleted: its selectors and addresses are reloaded."""
    return ((observe.SIGNAL_COMPANY_CHANGED, company_id),)


def rpc_answered(request_ids: Iterable[RequestId]) -> tuple[Notification, ...]:
    """Devices answered these calls, or they ended otherwise: their waiters read the rows."""
    return tuple((observe.SIGNAL_RPC_ANSWERED, request_id) for request_id in request_ids)


def deleted(sensor_ids: Iterable[SensorId]) -> tuple[Notification, ...]:
    """A vehicle, person or sensor was deleted, and its data must be erased; these sensors referred to it."""
    return (*sensors_changed(sensor_ids), (observe.SIGNAL_ERASURE_DUE, ""))


def sensor_deleted(sensor_id: SensorId) -> tuple[Notification, ...]:
    """The sensor was deleted with its token; its open trip ended and needs a score."""
    return (*credential_ended(sensor_id), *SCORING_DUE, *deleted([sensor_id]))
