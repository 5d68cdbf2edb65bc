"""Several processes on one database: nodes, who takes in which sensor's data, who holds which connection; the bus."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


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
