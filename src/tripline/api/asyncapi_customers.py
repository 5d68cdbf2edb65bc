"""What the AsyncAPI document says of customers' systems: what is pushed to their servers, what their bus brings.

Not here: the schemas (`asyncapi_schemas.py`).
"""

from typing import Final

from tripline.api.asyncapi_parts import Part
from tripline.api.asyncapi_schemas import Schemas
from tripline.domain import pushes
from tripline.domain.pushes import Name, Selector
from tripline.wire import bus, push, shapes

NOT_SERVED: Final = {"x-status": "not-served"}
"""Marks what is described, and what this version does not do."""
BUS_NOTE: Final = "**Not served by this version**, which reads no bus."
_HTTP: Final = {"http": {"method": "POST", "bindingVersion": "0.3.0"}}


def pushed(schemas: Schemas) -> Part:
    part = Part("pushes", "customer")
    headers = schemas.of_struct(shapes.Signed)
    envelope = schemas.of_struct(push.Notice)
    payloads = {
        Name.TRIP: {"type": "object"},
        Name.MICROTRIP: {"type": ["object", "array"]},
        Name.EVENT: {"type": "object"},
        Name.RPC: {},
        Name.CONNECTION: schemas.of_struct(push.Connection),
        Name.NETWORK_STATUS: schemas.of_struct(push.NetworkStatus),
    }
    with_number = (Name.TRIP, Name.MICROTRIP, Name.EVENT)
    part.add(
        "notify",
        None,
        "Messages to `notifyHost`",
        "Tripline posts each message that a company selected with `notifyMsgType`, one in a request, to the address in "
        "`notifyHost`. Any 2xx is success; the body of the answer is not read.",
        {
            name.value.lower(): {
                "title": name.value,
                "summary": _PUSHED[name],
                "description": f"Selected by {_selecting(name)}.",
                "headers": headers,
                "payload": {
                    "allOf": [
                        envelope,
                        {
                            "properties": {"ty": {"const": name.value}, "pld": payload},
                            "required": ["msgTy"] if name in with_number else ["requestId"] if name is Name.RPC else [],
                        },
                    ]
                },
            }
            for name, payload in payloads.items()
        },
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


_PUSHED: Final = {
    Name.TRIP: "A device's trip message; `pld` is its payload.",
    Name.MICROTRIP: "Samples of a drive; `pld` is the payload, an object or an array.",
    Name.EVENT: "An event; `pld` is its payload.",
    Name.RPC: "What came of a call: `pld` is the device's result, or a code of Tripline's (5001 no acknowledgement, "
    "5002 not connected, 5003 cancelled).",
    Name.CONNECTION: "A device came or went.",
    Name.NETWORK_STATUS: "The line of a device has another state.",
}


def _selecting(name: Name) -> str:
    numbers = [*range(1, 13), *range(101, 117), *Selector]
    return ", ".join(str(int(n)) for n in numbers if n != Selector.RULE_ALARM and pushes.name_of(n) == name)


def on_bus(schemas: Schemas) -> Part:
    part = Part("bus", "bus")
    for topic, struct in bus.ENVELOPES.items():
        name = struct.__name__
        part.add(
            name,
            topic,
            f"Bus: {topic}",
            f"A customer's system sends what it collected from devices. {BUS_NOTE}",
            {"envelope": {"title": name, "payload": schemas.of_struct(struct)}},
            action="receive",
            operation=f"receive{name}",
            bindings={"kafka": {"bindingVersion": "0.5.0"}},
            channel=NOT_SERVED,
            **NOT_SERVED,
        )
    return part
