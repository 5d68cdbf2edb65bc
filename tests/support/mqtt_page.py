"""`docs/mqtt.md`: what the device listener speaks, made from its constants, its settings and the table of
statements."""

from tests.conformance.statements import FILES, ROUTED, STATEMENTS, Statement
from tests.support import exchange, persistent_sessions
from tripline.config import Devices
from tripline.gateway import listener, newcomers, roster, tls, turns
from tripline.mqtt import inbound, outbound, session
from tripline.wire import topics
from tripline.wire.device import body

_HEAD = f"""# The protocol of the device listener

Made by `make docs` from the program and from `tests/conformance/statements.py`; a test holds it equal.

MQTT 3.1.1 over TLS 1.2 or later (TCP). The user name is the sensor's credentials id; a password is not looked at. Every
QoS is taken; an acknowledgement leaves after the message is durable.

- **Topics.** A device publishes on `{topics.TRE}`, `{topics.TRE_MSGPACK}`, `{topics.TELEMETRY}`,
  `{topics.ATTRIBUTES}`, `{topics.RPC_RESPONSE}ID` and `{topics.RPC_RESULT}ID`. It may subscribe to
  `{topics.RPC_REQUESTS}` or one exact topic under it, at QoS 0 or 1; every other filter is answered with 0x80. A
  publish on any other topic is acknowledged and kept in the rejected-message log.
- **Sessions** are clean: CONNACK never says "session present". A session belongs to the user name; the connection that
  asked last has it, and every older one is closed (`{roster.TAKEN_OVER}`).
- **Wills and RETAIN** are checked for form and change nothing.
- **Presence** is exact: a session ends for the platform at the moment its end is decided, by DISCONNECT, silence of
  one and a half keep-alives, the end of the network connection, a newer connection, the end of the credential, or the
  end of the server. Without keep-alive the system asks the other side after {listener.PEER_IDLE_S} s of silence and
  gives it up {listener.PEER_PROBES * listener.PEER_PROBE_S} s later.
- **A device that never acknowledges** requests stays reachable: beyond the limit below the oldest is given up. One that
  does not read is reported to the caller as congested at half of `devices.write_buffer`, and closed at all of it.
"""

_LIMITS = (
    (
        "bytes of a publish body; above, it is acknowledged and rejected",
        f"`devices.max_packet`, {Devices().max_packet:,}",
    ),
    ("objects and arrays of a message; above, it is acknowledged and rejected", f"{body.MAX_PARTS:,}"),
    (
        "bytes of a connection taken apart in one turn of the loop, and packets other than plain publishes among them",
        f"{inbound.LOT_BYTES:,} and {inbound.LOT_PACKETS}",
    ),
    ("bytes of any packet; above, the connection is closed", f"{inbound.MAX_LENGTH:,}"),
    ("bytes of a packet other than a publish of a live session", f"{inbound.MAX_CONTROL:,}"),
    ("bytes that wait behind CONNECT", f"{session.MAX_WAITING:,}"),
    (
        f"bytes of CONNECTs and the bytes behind them, beyond {newcomers.FREE:,} of each, of all connections not"
        " admitted yet; above, the address with most loses its oldest connection",
        f"{newcomers.MAX_HELD:,}",
    ),
    ("bytes before the first answer of TLS", f"{tls.MAX_HELLO:,}"),
    ("bytes of a ClientHello; above, the connection is closed at its header", f"{tls.MAX_CLIENT_HELLO:,}"),
    (
        "steps of TLS handshakes in one turn of the loop; half in order of arrival, half from address to address",
        f"{turns.STEPS}",
    ),
    ("credentials looked up at the same time, in the same order", f"{listener.ADMISSIONS}"),
    (
        "seconds to finish TLS, and again to send CONNECT",
        f"`devices.connect_timeout_s`, {Devices().connect_timeout_s:g}",
    ),
    (
        "open connections; above, the address with most connections not admitted loses its oldest",
        f"`devices.max_connections`, {Devices().max_connections:,}",
    ),
    (
        "publishes of a connection not yet durable before it is not read",
        f"`devices.max_unacknowledged`, {Devices().max_unacknowledged:,}",
    ),
    ("unread bytes before a connection is closed", f"`devices.write_buffer`, {Devices().write_buffer:,}"),
    ("granted filters of a session", f"{outbound.MAX_GRANTED}"),
    ("our messages under way to a device", f"{session.DEFAULT_IN_FLIGHT}"),
    ("packet ids of QoS 2 publishes under way from a device", "65,535"),
)

_ROUTED = f"""
## Namespaces that route

The tests extend the code of a connection by features that the product's topics do not allow: messages between clients
at every QoS, retained messages, Wills, sessions that outlive their connection (`tests/support/open_namespace.py`).
Their exchange (`tests/support/exchange.py`) holds at most {exchange.MAX_RETAINED:,} retained topics,
{exchange.MAX_KEPT:,} sessions of absent clients, and {persistent_sessions.MAX_QUEUED:,} waiting messages for each. Rows
marked *routed* below are proven there.

## Statements of the standard

"""


def page() -> str:
    """The text of the page."""
    limits = ["\n## Limits\n", "| At most | |", "|---|---|", *(f"| {what} | {bound} |" for what, bound in _LIMITS)]
    ours = {number: row for number, row in STATEMENTS.items() if row.tests}
    others = {number: row for number, row in STATEMENTS.items() if not row.tests}
    table = [
        f"{len(ours)} of {len(STATEMENTS)} concern this server and are tested; the others say why they do not.\n",
        "| Statement | Demands | Tests |",
        "|---|---|---|",
        *(f"| {number} | {row.says} | {_tests(row)} |" for number, row in ours.items()),
        "\n### Not ours\n",
        "| Statement | Demands | Because |",
        "|---|---|---|",
        *(f"| {number} | {row.says} | {row.why} |" for number, row in others.items()),
        "\n### Files\n",
        *(f"- {name}: `{path}`" for name, path in FILES.items()),
    ]
    return _HEAD + "\n".join(limits) + "\n" + _ROUTED + "\n".join(table) + "\n"


def _tests(row: Statement) -> str:
    names = [test.partition(":") for test in row.tests.split()]
    routed = "*routed* " if {file for file, _, _ in names} <= ROUTED else ""
    return routed + ", ".join(f"{file}: `{test.removeprefix('test_')}`" for file, _, test in names)
