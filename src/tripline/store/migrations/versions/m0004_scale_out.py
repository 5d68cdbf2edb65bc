"""Several processes on one database: nodes, who takes in which sensor's data, who holds which connection; the bus."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_ENVELOPE = "of a message from the bus: JSON around its payload, as sent"
_BUS_KEY = "of a record from the bus: what makes a second delivery one (domain/bus.py)"


def upgrade() -> None:
    """Go to this schema."""
    op.create_table(
        "node",
        sa.Column("slot", sa.Integer(), autoincrement=False, nullable=False, comment="of its row numbers (domain/ids)"),
        sa.Column("id", sa.String(length=36), nullable=False, comment="a new one at every start"),
        sa.Column("name", sa.String(length=255), nullable=False, comment="host and process number"),
        sa.Column("roles", sa.String(length=64), nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=False),
        sa.Column("seen_ms", sa.BigInteger(), nullable=False, comment="heartbeat, by the clock of the database"),
        sa.PrimaryKeyConstraint("slot", name=op.f("pk_node")),
        sa.UniqueConstraint("id", name=op.f("uq_node_id")),
        comment="processes that use this database",
    )
    op.create_table(
        "device_send",
        sa.Column("no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("node_id", sa.String(length=36), nullable=False, comment="the gateway that holds the connection"),
        sa.Column("asked_by", sa.String(length=36), nullable=False, comment="the node that waits to be told"),
        sa.Column("sensor_id", sa.String(length=36), nullable=False),
        sa.Column("topic", sa.String(length=255), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("until_ms", sa.BigInteger(), nullable=False, comment="later nobody waits any more"),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_device_send")),
        comment="messages on their way to a device that another process is connected with",
    )
    op.create_index("ix_device_send_node", "device_send", ["node_id", "no"], unique=False)
    op.create_table(
        "push_claim",
        sa.Column("company_id", sa.String(length=36), nullable=False),
        sa.Column("channel", sa.String(length=16), nullable=False),
        sa.Column("node_id", sa.String(length=36), nullable=False),
        sa.Column("until_ms", sa.BigInteger(), nullable=False, comment="by the clock of the database"),
        sa.PrimaryKeyConstraint("company_id", "channel", name=op.f("pk_push_claim")),
        comment="which process sends to which customer's server, so that one order is kept",
    )
    op.create_table(
        "bus_position",
        sa.Column("log", sa.String(length=255), nullable=False, comment="topic and its id, which a new topic has not"),
        sa.Column("part", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("next_offset", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("log", "part", name=op.f("pk_bus_position")),
        comment="how far each partition is stored, written in the transaction that stores it",
    )
    op.add_column(
        "trip",
        sa.Column("source", sa.String(length=8), server_default="device", nullable=False, comment="device or bus"),
    )
    op.add_column(
        "rejected_message",
        sa.Column("bus_partition", sa.Integer(), nullable=True, comment="of a message from the bus: where it stood"),
    )
    op.add_column("rejected_message", sa.Column("bus_offset", sa.BigInteger(), nullable=True))
    op.add_column(
        "sensor",
        sa.Column("ingest_node", sa.String(length=36), nullable=True, comment="node that keeps track of its data"),
    )
    op.add_column(
        "device_connection",
        sa.Column("node_id", sa.String(length=36), nullable=True, comment="gateway that holds or held the session"),
    )
    op.add_column(
        "device_connection",
        sa.Column("session_no", sa.BigInteger(), nullable=True, comment="greater than of older sessions"),
    )
    _bus_records()


def _bus_records() -> None:
    """Records that customers' systems delivered: what tells a second delivery, what stood around the payload."""
    has_key = sa.text("bus_key IS NOT NULL")
    op.add_column("trip", sa.Column("envelope", sa.LargeBinary(), nullable=True, comment=_ENVELOPE))
    for table in ("microtrip", "device_event"):
        op.add_column(table, sa.Column("bus_key", sa.BigInteger(), nullable=True, comment=_BUS_KEY))
        op.add_column(table, sa.Column("envelope", sa.LargeBinary(), nullable=True, comment=_ENVELOPE))
        op.create_index(
            f"ix_{table}_bus_key",
            table,
            ["bus_key"],
            unique=False,
            sqlite_where=has_key,
            postgresql_where=has_key,
        )
    op.create_index(
        "ix_device_event_bus_id",
        "device_event",
        ["id"],
        unique=False,
        sqlite_where=has_key,
        postgresql_where=has_key,
    )
