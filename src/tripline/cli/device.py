"""`tripline device`: tools for the maker of a device, beside a running server."""

import json
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import App, Parameter, validators

from tripline.cli import base
from tripline.later import Later

if TYPE_CHECKING:
    import uvloop

    from tripline.maintenance import device_check
    from tripline.services import device_check as reports
else:
    uvloop = Later("uvloop")
    device_check = Later("tripline.maintenance.device_check")
    reports = Later("tripline.services.device_check")

_NOTHING: Final = (
    "nothing came. Is the device sent to this server's device port, does it trust the certificate of DATA/tls/ca.crt,"
    " and is its MQTT user name this token? A refused CONNECT is in the server's log (device.refused)."
)
device = App(
    name="device",
    help="Help who makes or connects a device.",
    help_epilogue="Example: TRIPLINE_DEVICE_TOKEN=... tripline device check --for 60",
)


@device.command(
    help_epilogue="Example: TRIPLINE_DEVICE_TOKEN=... tripline device check --data /srv/tripline --count 10"
)
def check(
    *,
    token: base.DeviceToken,
    for_s: Annotated[
        float | None,
        Parameter(name="--for", validator=validators.Number(gt=0), help="seconds to listen (default: until Ctrl-C)"),
    ] = None,
    count: Annotated[
        int | None, Parameter(validator=validators.Number(gte=1), help="messages after which to end")
    ] = None,
    as_json: Annotated[bool, Parameter(name="--json", negative=(), help="one JSON object a line")] = False,
    place: base.Place | None = None,
) -> int:
    """Listen to one device and explain each message: its reading, conversions, and rejections with the reason.

    Works beside `tripline serve` on the same data folder. Exits 1 when nothing came or something was rejected.
    """
    order = device_check.Order(token, for_s=for_s, count=count)
    show = _as_json if as_json else _as_text
    try:
        heard = uvloop.run(device_check.listened(base.settings(place, {}), order, tell=show))
    except device_check.Busy as error:
        base.complain(error)
        return base.FAILED
    if not as_json:
        base.line(f"messages {heard.messages}, of these rejected in whole or in part {heard.rejected}")
    if not heard.messages:
        base.complain(_NOTHING)
    return base.OK if heard.messages and not heard.rejected else base.FAILED


def _as_text(told: "reports.ReportLine") -> None:
    at = base.utc_text(told.at_ms)
    if told.kind != reports.MESSAGE:
        base.line(base.printable(f"{at} {told.text if told.kind == reports.NOTE else f'{told.kind}: {told.text}'}"))
        return
    base.line(base.printable(f"{at} message on {told.topic}, {told.size} bytes: {told.text}"))
    for finding in told.findings:
        where = f"{finding.where}: " if finding.where else ""
        base.line(base.printable(f"    {finding.sort:<9} {where}{finding.text}"))


def _as_json(told: "reports.ReportLine") -> None:
    record: dict[str, Any] = {"at": told.at_ms, "kind": told.kind, "text": told.text}
    if told.kind == reports.MESSAGE:
        record |= {
            "topic": told.topic,
            "bytes": told.size,
            "outcome": told.outcome,
            "findings": [{"sort": each.sort, "where": each.where, "text": each.text} for each in told.findings],
        }
    base.line(json.dumps(record))
