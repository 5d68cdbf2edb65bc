"""Messages to customers' servers: the subscriptions of companies, and the receivers of a message.

Follows spec/push 2 (rules N1 to N5) and 4.4.
"""

import re
from collections.abc import Iterable, Sequence
from enum import IntEnum, StrEnum
from typing import ClassVar, Final

import msgspec

from tripline.domain import ids
from tripline.domain.companies import MessageTypes
from tripline.domain.device_messages import EVENT_NUMBERS, TRIP_NUMBERS
from tripline.domain.ids import CompanyId, RequestId, RowNo, SensorId
from tripline.domain.refusals import Invalid, TryLater

_NUMBER: Final = re.compile(r"0*([0-9]{1,4})", re.ASCII)


class Channel(StrEnum):
    """Which of a company's two addresses a message goes to (spec/push 1)."""

    NOTIFY = "notify"
    """`notifyHost`: the envelope of spec/push 4.2."""
    RPC_NOTIFY = "rpc_notify"
    """`rpcNotify*`: the result of a call, byte for byte as the device sent it."""

    @property
    def published(self) -> str:
        """The channel's published name."""
        return "rpcNotify" if self is Channel.RPC_NOTIFY else "notify"


class Selector(IntEnum):
    """Numbers of `notifyMsgType` beside those of device messages (`device_messages.py`)."""

    RPC = 300
    RULE_ALARM = 400
    """Accepted, and selects nothing: no rule engine is documented (N5)."""
    CONNECTION = 500
    NETWORK_STATUS = 600
    DISPUTE = 700


class Name(StrEnum):
    """Names of messages in their `ty`."""

    TRIP = "TRIP"
    MICROTRIP = "MICROTRIP"
    EVENT = "EVENT"
    RPC = "RPC"
    CONNECTION = "CONNECTION"
    NETWORK_STATUS = "NWSTATUS"
    DISPUTE = "DISPUTE"


_NAMES: Final[dict[int, Name]] = {
    **{number: Name.TRIP if number % 2 else Name.MICROTRIP for number in TRIP_NUMBERS},
    **dict.fromkeys(EVENT_NUMBERS, Name.EVENT),
    Selector.RPC: Name.RPC,
    Selector.CONNECTION: Name.CONNECTION,
    Selector.NETWORK_STATUS: Name.NETWORK_STATUS,
    Selector.DISPUTE: Name.DISPUTE,
}

MUTE: Final = "takes messages and never answers"
"""Description of a mute server, the same wherever one is shown (spec/push M3)."""
OF_DEVICES: Final = frozenset((*TRIP_NUMBERS, *EVENT_NUMBERS))
"""Numbers of messages that devices send. A device cannot use the other numbers to imitate the platform."""

TRIAL: Final = "TEST"
"""The `ty` of a trial message, which reports no event."""


class NoAddress(Invalid):
    """The company has no address for messages of this channel."""

    code: ClassVar[str] = "push.no_address"


class TrialUnderWay(TryLater):
    """Trial messages to the company's server, or too many of its operator's, are under way; or this one made room."""

    code = "push.trial_under_way"


class Subscription(msgspec.Struct, frozen=True):
    """Where a company wants messages sent, and which."""

    company_id: CompanyId
    notify_host: str | None
    notify_msg_type: MessageTypes | None


class Wish(msgspec.Struct, frozen=True):
    """A company that gets messages, and the numbers of its subscription."""

    company_id: CompanyId
    numbers: frozenset[int]


class Receiver(msgspec.Struct, frozen=True):
    """A company that gets a message, and the number that selected it."""

    company_id: CompanyId
    selector: int


class Mute(msgspec.Struct, frozen=True):
    """A receiver that takes messages and never answers."""

    company_id: CompanyId
    company_name: str | None
    """None: the company is gone."""
    channel: Channel
    since_ms: int
    unconfirmed: int


class State(StrEnum):
    """Delivery state of a message."""

    WAITING = "waiting"
    PARKED = "parked"
    """Given up."""
    UNCONFIRMED = "unconfirmed"
    """Delivered to a server that never answers."""


class Message(msgspec.Struct, frozen=True):
    """A message of the outbox, as its company's administrators see it."""

    no: RowNo
    id: str
    channel: Channel
    sensor_id: SensorId
    serial_no: str | None
    """Of the sensor; None: it is gone."""
    selector: int
    attempts: int
    last_error: str | None
    due_ms: int
    """When a waiting message is tried next."""
    parked_ms: int | None
    """When it was given up, or delivered unconfirmed."""

    @property
    def created_ms(self) -> int:
        """When the message was made."""
        return ids.created_ms(self.id)


class Parked(msgspec.Struct, frozen=True):
    """A message that was given up."""

    no: RowNo
    id: str
    company_id: CompanyId
    channel: Channel
    sensor_id: SensorId
    selector: int
    request_id: RequestId | None
    attempts: int
    last_error: str | None
    parked_ms: int
    body: bytes | None
    """None: not requested."""

    @property
    def created_ms(self) -> int:
        """When the message was made."""
        return ids.created_ms(self.id)


def name_of(number: int) -> Name:
    """The name of the messages that this number selects. Raises KeyError for a number that selects none (N5)."""
    return _NAMES[number]


def numbers_of(name: Name) -> tuple[int, ...]:
    """The numbers that select messages of this name."""
    return tuple(number for number, of_number in _NAMES.items() if of_number is name)


def selected(asked: MessageTypes | None) -> frozenset[int]:
    """The numbers in a `notifyMsgType` as it was sent; other parts select nothing (N1 to N3)."""
    parts = ",".join(_text(part) for part in (asked if isinstance(asked, list) else [asked])).split(",")
    found = (_NUMBER.fullmatch(part.strip()) for part in parts)
    return frozenset(int(number[1]) for number in found if number)


def wishes(operator: Subscription, owner: Subscription) -> tuple[Wish, ...]:
    """Return the companies that may get messages about a sensor, each once, without companies that subscribed to none
    (N3, 4.4).

    `operator` is the operator of the sensor's service type, `owner` the company that owns the sensor.
    """
    told = [operator] if owner.company_id == operator.company_id else [operator, owner]
    asked = (Wish(company.company_id, _with_messages(company)) for company in told if company.notify_host)
    return tuple(wish for wish in asked if wish.numbers)


def chosen(wishes: Iterable[Wish], numbers: Iterable[int]) -> list[Receiver]:
    """The receivers of a message that has these numbers: the number of its kind, and the number that was sent (N4)."""
    found = ((wish.company_id, next((number for number in numbers if number in wish.numbers), None)) for wish in wishes)
    return [Receiver(company_id, selector) for company_id, selector in found if selector is not None]


def receivers(operator: Subscription, owner: Subscription, numbers: Sequence[int]) -> list[Receiver]:
    """The receivers of a message about a sensor: `chosen` of the `wishes`."""
    return chosen(wishes(operator, owner), numbers)


def _with_messages(company: Subscription) -> frozenset[int]:
    return selected(company.notify_msg_type) & _NAMES.keys()


def _text(part: str | int | float | None) -> str:
    """A part as text: JSON does not distinguish 600 from 600.0."""
    if isinstance(part, float) and part.is_integer():
        return str(int(part))
    return "" if part is None else str(part)
