"""The device channel beside driving: calls to devices, activations, connections and watches."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, String, Table

from tripline.store.tables.base import RowNumber, Uuid, metadata, partial_index

rpc_call = Table(
    "rpc_call",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False),
    Column("id", Uuid, nullable=False, unique=True, comment="Request-ID; carries the time of the request"),
    Column("sensor_id", Uuid, nullable=False),
    Column("company_id", Uuid, nullable=False, comment="owner of the sensor when it was called"),
    Column("vehicle_id", Uuid, comment="where the sensor was; of an activation: where it is to be mounted"),
    Column("user_id", Uuid, comment="account that asked"),
    Column("activation", Boolean, nullable=False, comment="made by the platform to mount the sensor"),
    Column("method", String(255), nullable=False),
    Column("params", LargeBinary, nullable=False, comment="JSON, as forwarded"),
    Column("state", String(16), nullable=False, comment="domain/rpc.py"),
    Column("deadline_ms", BigInteger, nullable=False, comment="deadline of the acknowledgement"),
    Column("response", LargeBinary, comment="acknowledgement, as sent"),
    Column("response_ms", BigInteger),
    Column("response_code", Integer),
    Column("result", LargeBinary, comment="result, as sent"),
    Column("result_ms", BigInteger),
    Column("result_code", Integer, comment="of the device, or 5001 to 5003 of the platform"),
    comment="calls to devices (RPC)",
)
Index("ix_rpc_call_sensor", rpc_call.c.sensor_id, rpc_call.c.no)
Index("ix_rpc_call_vehicle", rpc_call.c.vehicle_id)
Index("ix_rpc_call_user", rpc_call.c.user_id)
partial_index("ix_rpc_call_waiting", rpc_call.c.deadline_ms, where="state = 'REQUESTED'")


rpc_later_result = Table(
    "rpc_later_result",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False),
    Column("call_no", RowNumber, nullable=False),
    Column("code", Integer),
    Column("body", LargeBinary, nullable=False, comment="as sent"),
    comment="results that came after the one that counts (spec/rpc R4)",
)
Index("ix_rpc_later_result_call", rpc_later_result.c.call_no)


activation = Table(
    "activation",
    metadata,
    Column("sensor_id", Uuid, primary_key=True),
    Column("call_id", Uuid, nullable=False, comment="the activation request that counts; an older one is superseded"),
    Column("vehicle_id", Uuid, nullable=False, comment="where the sensor is mounted when the device succeeds"),
    Column("created_ms", BigInteger, nullable=False),
    comment="activations whose result is awaited",
)
Index("ix_activation_vehicle", activation.c.vehicle_id)


device_connection = Table(
    "device_connection",
    metadata,
    Column("sensor_id", Uuid, primary_key=True),
    Column("connected", Boolean, nullable=False),
    Column("changed_ms", BigInteger, nullable=False, comment="when it connected, or was lost"),
    Column("seen_ms", BigInteger, nullable=False, comment="when something was last heard of it"),
    Column("lost_ms", BigInteger, comment="when the last session ended that no other one took over"),
    Column("reason", String(32), comment="why it ended"),
    Column("told", Boolean, nullable=False, comment="what customers were told last: connected or not (push class 500)"),
    Column("node_id", Uuid, comment="gateway that holds or held the session"),
    Column("session_no", BigInteger, comment="greater than of older sessions"),
    comment="whether each device is connected",
)
partial_index("ix_device_connection_untold", device_connection.c.changed_ms, where="told <> connected")


device_watch = Table(
    "device_watch",
    metadata,
    Column("sensor_id", Uuid, primary_key=True),
    Column("until_ms", BigInteger, nullable=False),
    comment="devices whose messages are traced for `tripline device check`",
)


device_trace = Table(
    "device_trace",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False),
    Column("sensor_id", Uuid, nullable=False),
    Column("topic", String(255), nullable=False),
    Column("outcome", String(64), nullable=False, comment="kept, redelivered, or why it was rejected"),
    Column("body", LargeBinary, nullable=False, comment="as sent; of a long one the beginning"),
    comment="messages of watched devices, deleted when the watch ends",
)
Index("ix_device_trace_sensor", device_trace.c.sensor_id, device_trace.c.no)
