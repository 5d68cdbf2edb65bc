"""The part of the AsyncAPI document about customers' systems: pushes to their servers, messages on their bus."""

from typing import Any, Final

from tripline.api.documents.asyncapi_schemas import Part, Schemas, payload_example
from tripline.api.documents.openapi_schemas import Schema
from tripline.domain import pushes
from tripline.domain.device_messages import EVENT_NUMBERS, TRIP_NUMBERS
from tripline.domain.pushes import Name, Selector
from tripline.wire import push, shapes
from tripline.wire.bus import envelopes as bus_envelopes

BUS_NOTE: Final = (
    "Read when the setting `bus.url` names brokers; the same messages in a file are taken in by `tripline ingest`. How "
    "tolerantly they are read is in `docs/bus.md`."
)
_HTTP: Final = {"http": {"method": "POST", "bindingVersion": "0.3.0"}}


def pushed(schemas: Schemas) -> Part:
    """Requests to customers' servers."""
    part = Part("pushes", "customer")
    part.add(
        "notify",
        None,
        "Messages to `notifyHost`",
        "Tripline posts each message that a company selected with `notifyMsgType`, one in a request, to the address in "
        "`notifyHost`. Any 2xx is success; the body of the answer is not read.",
        _notices(schemas),
        action="send",
        operation="notify",
        bindings=_HTTP,
    )
    part.add(
        "rpcNotify",
        None,
        "Results to `rpcNotifyHost`",
        "Tripline posts each result of a call to `rpcNotifyHost`, `rpcNotifyPort` and `rpcNotifyBasePath` of the "
        "sensor's owner, byte for byte as the device sent it. The headers say which call it was.",
        {
            "result": {
                "title": "Result",
                "headers": schemas.of_struct(shapes.SignedResult),
                "payload": schemas.of_struct(shapes.RpcAnswer),
                "examples": [{"payload": {"results": 2000, "additionalInfo": {"sn": "SN-000001"}}}],
            }
        },
        action="send",
        operation="notifyResult",
        bindings=_HTTP,
    )
    return part


def _notices(schemas: Schemas) -> dict[str, Schema]:
    """Each kind of message in the envelope that all have."""
    headers = schemas.of_struct(shapes.Signed)
    envelope = schemas.of_struct(push.Notice)
    payloads: dict[Name, Schema] = {
        Name.TRIP: {"type": "object"},
        Name.MICROTRIP: {"type": ["object", "array"]},
        Name.EVENT: {"type": "object"},
        Name.RPC: {},
        Name.CONNECTION: schemas.of_struct(push.Connection),
        Name.NETWORK_STATUS: schemas.of_struct(push.NetworkStatus),
        Name.DISPUTE: schemas.of_struct(push.Dispute),
    }
    return {
        name.value.lower(): {
            "title": name.value,
            "summary": _PUSHED[name],
            "description": f"Selected by {_selecting(name)}.",
            "headers": headers,
            "examples": [{"payload": _notice(name)}],
            "payload": {
                "allOf": [
                    envelope,
                    {"properties": {"ty": {"const": name.value}, "pld": payload}, "required": _REQUIRED.get(name, [])},
                ]
            },
        }
        for name, payload in payloads.items()
    }


_REQUIRED: Final = {Name.TRIP: ["msgTy"], Name.MICROTRIP: ["msgTy"], Name.EVENT: ["msgTy"], Name.RPC: ["requestId"]}
"""Fields of some messages, in addition to the common ones."""
_PUSHED: Final = {
    Name.TRIP: "A device's trip message; `pld` is its payload.",
    Name.MICROTRIP: "Samples of a drive; `pld` is the payload, an object or an array.",
    Name.EVENT: "An event; `pld` is its payload.",
    Name.RPC: "What came of a call: `pld` is the device's result, or a code of Tripline's (5001 no acknowledgement, "
    "5002 not connected, 5003 cancelled).",
    Name.CONNECTION: "A device came or went.",
    Name.NETWORK_STATUS: "The line of a device has another state.",
    Name.DISPUTE: "Somebody disputes a score, or that was decided or withdrawn; `ts` is when.",
}

_TOLD: Final[dict[Name, dict[str, Any]]] = {
    Name.TRIP: {"msgTy": 1, "pld": payload_example(1)},
    Name.MICROTRIP: {"msgTy": 2, "pld": [payload_example(2)]},
    Name.EVENT: {"msgTy": 102, "pld": payload_example(102)},
    Name.RPC: {"requestId": "6f1f3c10-c7a4-11ef-8a3e-5f0c5d2b9a71", "pld": {"result": 2000}},
    Name.CONNECTION: {"pld": {"connected": True}},
    Name.NETWORK_STATUS: {"pld": {"nwStatus": "01"}},
    Name.DISPUTE: {
        "pld": {
            "disputeId": "5d0e4b60-c802-11ef-9d5c-6b1f6f2a4c11",
            "tripId": "0c5f7a60-c802-11ef-9d5c-6b1f6f2a4c11",
            "state": "OPEN",
            "reason": "TRAFFIC",
            "eventTy": 3,
            "eventTs": 1735691234000,
        }
    },
}
"""The specific fields in each message's example."""


def _notice(name: Name) -> dict[str, Any]:
    """An example of the message."""
    return {
        "masterCompanyId": "a1f0e7c0-c801-11ef-9d5c-6b1f6f2a4c11",
        "companyId": "b37c5a20-c801-11ef-9d5c-6b1f6f2a4c11",
        "sensorId": "c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11",
        "vehicleId": "d6022b90-c801-11ef-9d5c-6b1f6f2a4c11",
        "ts": 1735689602000,
        "ty": name.value,
        **_TOLD[name],
    }


def _selecting(name: Name) -> str:
    numbers = [*TRIP_NUMBERS, *EVENT_NUMBERS, *Selector]
    return ", ".join(str(int(n)) for n in numbers if n != Selector.RULE_ALARM and pushes.name_of(n) == name)


def on_bus(schemas: Schemas) -> Part:
    """Topics on which customers' systems deliver their data."""
    part = Part("bus", "bus")
    for topic, struct in bus_envelopes.ENVELOPES.items():
        name = struct.__name__
        kind, own = _ON_BUS[topic]
        part.add(
            name,
            topic,
            f"Bus: {topic}",
            f"A customer's system sends what it collected from devices. {BUS_NOTE}",
            {
                "envelope": {
                    "title": name,
                    "payload": schemas.of_struct(struct),
                    "examples": [{"payload": {"data": {**_COLLECTED, **own}, "msgType": kind}}],
                }
            },
            action="receive",
            operation=f"receive{name}",
            bindings={"kafka": {"bindingVersion": "0.5.0"}},
        )
    return part


_COLLECTED: Final = {
    "deviceType": "BLACKBOX",
    "companyId": "a1f0e7c0-c801-11ef-9d5c-6b1f6f2a4c11",
    "sensorId": "c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11",
    "vehicleId": "d6022b90-c801-11ef-9d5c-6b1f6f2a4c11",
    "tripId": "0d3b6a00-c7d3-11ef-b1a8-27c5d9c1f0a2",
    "createdTime": 1735689604310,
}
_ON_BUS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    bus_envelopes.MICROTRIPS: (
        "microtrip",
        {
            "payload": '[{"tid":88,"try":1,"lat":37.497952,"lon":127.027619,"sp":43,"clt":1735689600000}]',
            "microTripId": "0fd1c2e0-c7d3-11ef-b1a8-27c5d9c1f0a2",
            "ts": 1735689602000,
        },
    ),
    bus_envelopes.TRIPS: (
        "trip",
        {"payload": '{"tid":88,"dis":6480}', "startTs": 1735689600000, "endTs": 1735690500000},
    ),
    bus_envelopes.EVENTS: (
        "event",
        {"payload": {"tid": 88, "dclat": 37.51221, "dclon": 127.041877}, "eventTs": 1735689930000, "ty": 102},
    ),
}
"""Topic -> `msgType` of an example, and the specific fields of its `data`."""
