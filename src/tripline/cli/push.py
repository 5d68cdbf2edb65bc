"""`tripline push`: parked messages to customers' servers."""

import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter
from msgspec.structs import replace

from tripline.cli import base, progress
from tripline.config import files as config_files
from tripline.domain import ids
from tripline.domain.ids import CompanyId, SensorId
from tripline.domain.pushes import Channel, Parked
from tripline.later import Later

if TYPE_CHECKING:
    import uvloop

    from tripline.maintenance import pushes as maintenance
    from tripline.store.push import parked as push_parked
else:
    uvloop = Later("uvloop")
    maintenance = Later("tripline.maintenance.pushes")
    push_parked = Later("tripline.store.push.parked")

push = App(
    name="push",
    help="Messages to customers' servers that were given up: look at them, send them again.",
    help_epilogue="Example: tripline push list --since 2025-01-01",
)

_TOLD_EVERY = 10_000

_CHANNELS = {channel.published: channel for channel in Channel}

_Company = Annotated[str | None, Parameter(help="only messages to this company (id)")]
_Receiver = Annotated[
    Literal["notify", "rpcNotify"] | None, Parameter(help="only messages to this of a company's two addresses")
]
_Sensor = Annotated[str | None, Parameter(help="only messages about this sensor (id)")]
_Ids = Annotated[
    list[str] | None, Parameter(name="--id", negative=(), help="only this message (webhook-id); may be repeated")
]
_Since = Annotated[
    str | None, Parameter(help="only messages given up since then (UTC): 2025-01-31 or 2025-01-31T08:00")
]


@push.command(name="list", help_epilogue="Example: tripline push list --data /srv/tripline --receiver notify")
def list_parked(
    *,
    company: _Company = None,
    receiver: _Receiver = None,
    sensor: _Sensor = None,
    message: _Ids = None,
    since: _Since = None,
    limit: Annotated[int, Parameter(help="so many at most")] = 100,
    body: Annotated[bool, Parameter(negative=(), help="show what the messages say too: it may tell positions")] = False,
    place: base.Place | None = None,
) -> int:
    """Show parked messages, the oldest first: time, receiver, sensor and reason."""
    which = _which(company, receiver, sensor, message, since)
    settings = base.settings(place, {})
    shown = uvloop.run(maintenance.listed(settings, which, limit=max(0, limit), bodies=body, show=_show))
    base.line(f"{shown} messages shown" if shown < limit else f"{shown} messages shown; there may be more (--limit)")
    return base.OK


@push.command(help_epilogue="Example: tripline push resend --company b37c5a20-c801-11ef-9d5c-6b1f6f2a4c11")
def resend(
    *,
    company: _Company = None,
    receiver: _Receiver = None,
    sensor: _Sensor = None,
    message: _Ids = None,
    since: _Since = None,
    unconfirmed: Annotated[
        bool, Parameter(negative=(), help="messages that a server took and never confirmed, instead of those given up")
    ] = False,
    place: base.Place | None = None,
) -> int:
    """Send parked messages again, with their ids; a running server begins within seconds.

    Without a filter: all of them, some hundred at a time; messages already queued when the command ends stay queued.
    Messages that wait for the end of a pause go out at once, too.
    """
    which = replace(_which(company, receiver, sensor, message, since), unconfirmed=unconfirmed)
    with progress.counting("messages", every=_TOLD_EVERY) as tell:
        sent = uvloop.run(maintenance.resent(base.settings(place, {}), which, progress=tell))
    base.line(f"{sent.count} messages wait to be sent again, {sent.released} were waiting already and go out now")
    return base.OK


def _show(parked: Parked) -> None:
    text = (
        f"{base.utc_text(parked.parked_ms)} {parked.id} company {parked.company_id} {parked.channel.published} "
        f"sensor {parked.sensor_id} selector {parked.selector} attempts {parked.attempts}: {parked.last_error}"
    )
    base.line(base.printable(text))
    if parked.body is not None:
        base.line(base.printable(f"  {parked.body.decode(errors='replace')}"))


def _which(
    company: str | None, receiver: str | None, sensor: str | None, message: list[str] | None, since: str | None
) -> "push_parked.Which":
    """The filters in the store's form. Raises `WrongSettingError`."""
    company_id, sensor_id = _id("--company", company), _id("--sensor", sensor)
    return push_parked.Which(
        company_id=None if company_id is None else CompanyId(company_id),
        channel=None if receiver is None else _CHANNELS[receiver],
        sensor_id=None if sensor_id is None else SensorId(sensor_id),
        message_ids=None if message is None else [_id("--id", each) or "" for each in message],
        since_ms=None if since is None else _instant(since),
    )


def _id(flag: str, text: str | None) -> str | None:
    known = None if text is None else ids.canonical(text)
    if text is not None and known is None:
        raise config_files.WrongSettingError(f"{flag}: {base.printable(text)} is no id (a UUID).")
    return known


def _instant(text: str) -> int:
    try:
        read = datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise config_files.WrongSettingError(f"--since: {base.printable(text)} is no date or time.") from error
    aware = read if read.tzinfo is not None else read.replace(tzinfo=datetime.UTC)
    return int(aware.timestamp() * 1_000)
