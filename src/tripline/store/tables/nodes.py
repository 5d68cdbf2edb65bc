"""The processes that share a database, and the messages between them."""

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, String, Table

from tripline.store.tables.base import RowNumber, Uuid, metadata

node = Table(
    "node",
    metadata,
    Column("slot", Integer, primary_key=True, autoincrement=False, comment="of its row numbers (domain/ids)"),
    Column("id", Uuid, nullable=False, unique=True, comment="a new one at every start"),
    Column("name", String(255), nullable=False, comment="host and process number"),
    Column("roles", String(64), nullable=False),
    Column("started_ms", BigInteger, nullable=False),
    Column("seen_ms", BigInteger, nullable=False, comment="heartbeat, by the clock of the database"),
    comment="processes that use this database",
)


device_send = Table(
    "device_send",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False),
    Column("node_id", Uuid, nullable=False, comment="the gateway that holds the connection"),
    Column("asked_by", Uuid, nullable=False, comment="the node that waits to be told"),
    Column("sensor_id", Uuid, nullable=False),
    Column("topic", String(255), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("until_ms", BigInteger, nullable=False, comment="later nobody waits any more"),
    comment="messages on their way to a device that another process is connected with",
)
Index("ix_device_send_node", device_send.c.node_id, device_send.c.no)


push_claim = Table(
    "push_claim",
    metadata,
    Column("company_id", Uuid, primary_key=True),
    Column("channel", String(16), primary_key=True),
    Column("node_id", Uuid, nullable=False),
    Column("until_ms", BigInteger, nullable=False, comment="by the clock of the database"),
    comment="which process sends to which customer's server, so that one order is kept",
)


bus_position = Table(
    "bus_position",
    metadata,
    Column("log", String(255), primary_key=True, comment="topic and its id, which a new topic has not"),
    Column("partition", Integer, primary_key=True, autoincrement=False),
    Column("next_offset", BigInteger, nullable=False),
    comment="how far each partition is stored, written in the transaction that stores it",
)
