"""Calls to devices, activations, connections, watched devices; customers' messages by receiver."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Go to this schema."""
    op.create_table(
        "activation",
        sa.Column("sensor_id", sa.String(length=36), nullable=False),
        sa.Column(
            "call_id",
            sa.String(length=36),
            nullable=False,
            comment="the activation request that counts; an older one is superseded",
        ),
        sa.Column(
            "vehicle_id",
            sa.String(length=36),
            nullable=False,
            comment="where the sensor is mounted when the device succeeds",
        ),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sensor_id", name=op.f("pk_activation")),
        comment="activations whose result is awaited",
    )
    op.create_index("ix_activation_vehicle", "activation", ["vehicle_id"], unique=False)
    op.create_table(
        "device_connection",
        sa.Column("sensor_id", sa.String(length=36), nullable=False),
        sa.Column("connected", sa.Boolean(), nullable=False),
        sa.Column("changed_ms", sa.BigInteger(), nullable=False, comment="when it connected, or was lost"),
        sa.Column("seen_ms", sa.BigInteger(), nullable=False, comment="when something was last heard of it"),
        sa.Column(
            "lost_ms",
            sa.BigInteger(),
            nullable=True,
            comment="when the last session ended that no other one took over",
        ),
        sa.Column("reason", sa.String(length=32), nullable=True, comment="why it ended"),
        sa.Column(
            "told",
            sa.Boolean(),
            nullable=False,
            comment="what customers were told last: connected or not (push class 500)",
        ),
        sa.PrimaryKeyConstraint("sensor_id", name=op.f("pk_device_connection")),
        comment="whether each device is connected",
    )
    op.create_index(
        "ix_device_connection_untold",
        "device_connection",
        ["changed_ms"],
        unique=False,
        sqlite_where=sa.text("told <> connected"),
        postgresql_where=sa.text("told <> connected"),
    )
    op.create_table(
        "device_trace",
        sa.Column("no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("sensor_id", sa.String(length=36), nullable=False),
        sa.Column("topic", sa.String(length=255), nullable=False),
        sa.Column("outcome", sa.String(length=64), nullable=False, comment="kept, redelivered, or why it was rejected"),
        sa.Column("body", sa.LargeBinary(), nullable=False, comment="as sent; of a long one the beginning"),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_device_trace")),
        comment="messages of watched devices, deleted when the watch ends",
    )
    op.create_index("ix_device_trace_sensor", "device_trace", ["sensor_id", "no"], unique=False)
    op.create_table(
        "device_watch",
        sa.Column("sensor_id", sa.String(length=36), nullable=False),
        sa.Column("until_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sensor_id", name=op.f("pk_device_watch")),
        comment="devices whose messages are traced for `tripline device check`",
    )
    op.create_table(
        "push_secret",
        sa.Column("company_id", sa.String(length=36), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False, comment="signs what is pushed to the company"),
        sa.Column("former", sa.LargeBinary(), nullable=True, comment="the one before, which signs too for a while"),
        sa.Column("former_until_ms", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("company_id", name=op.f("pk_push_secret")),
        comment="secrets of customers' servers",
    )
    op.create_table(
        "rpc_call",
        sa.Column("no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False, comment="Request-ID; carries the time of the request"),
        sa.Column("sensor_id", sa.String(length=36), nullable=False),
        sa.Column("company_id", sa.String(length=36), nullable=False, comment="owner of the sensor when it was called"),
        sa.Column(
            "vehicle_id",
            sa.String(length=36),
            nullable=True,
            comment="where the sensor was; of an activation: where it is to be mounted",
        ),
        sa.Column("user_id", sa.String(length=36), nullable=True, comment="account that asked"),
        sa.Column("activation", sa.Boolean(), nullable=False, comment="made by the platform to mount the sensor"),
        sa.Column("method", sa.String(length=255), nullable=False),
        sa.Column("params", sa.LargeBinary(), nullable=False, comment="JSON, as forwarded"),
        sa.Column("state", sa.String(length=16), nullable=False, comment="domain/rpc.py"),
        sa.Column("deadline_ms", sa.BigInteger(), nullable=False, comment="deadline of the acknowledgement"),
        sa.Column("response", sa.LargeBinary(), nullable=True, comment="acknowledgement, as sent"),
        sa.Column("response_ms", sa.BigInteger(), nullable=True),
        sa.Column("response_code", sa.Integer(), nullable=True),
        sa.Column("result", sa.LargeBinary(), nullable=True, comment="result, as sent"),
        sa.Column("result_ms", sa.BigInteger(), nullable=True),
        sa.Column("result_code", sa.Integer(), nullable=True, comment="of the device, or 5001 to 5003 of the platform"),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_rpc_call")),
        sa.UniqueConstraint("id", name=op.f("uq_rpc_call_id")),
        comment="calls to devices (RPC)",
    )
    op.create_index("ix_rpc_call_sensor", "rpc_call", ["sensor_id", "no"], unique=False)
    op.create_index("ix_rpc_call_user", "rpc_call", ["user_id"], unique=False)
    op.create_index("ix_rpc_call_vehicle", "rpc_call", ["vehicle_id"], unique=False)
    op.create_index(
        "ix_rpc_call_waiting",
        "rpc_call",
        ["deadline_ms"],
        unique=False,
        sqlite_where=sa.text("state = 'REQUESTED'"),
        postgresql_where=sa.text("state = 'REQUESTED'"),
    )
    op.create_table(
        "rpc_later_result",
        sa.Column("no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("call_no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("code", sa.Integer(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=False, comment="as sent"),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_rpc_later_result")),
        comment="results that came after the one that counts (spec/rpc R4)",
    )
    op.create_index("ix_rpc_later_result_call", "rpc_later_result", ["call_no"], unique=False)
    op.add_column(
        "push_outbox",
        sa.Column(
            "channel",
            sa.String(length=16),
            server_default="notify",
            nullable=False,
            comment="notify or rpc_notify (spec/push 1)",
        ),
    )
    op.add_column(
        "push_outbox", sa.Column("request_id", sa.String(length=36), nullable=True, comment="of an RPC result")
    )
    op.add_column("push_outbox", sa.Column("method", sa.String(length=255), nullable=True, comment="of an RPC result"))
    op.add_column(
        "push_outbox",
        sa.Column(
            "parked_ms", sa.BigInteger(), nullable=True, comment="when it was given up; it is sent again on demand only"
        ),
    )
    op.drop_index(op.f("ix_push_outbox_company"), table_name="push_outbox")
    op.drop_index(op.f("ix_push_outbox_due"), table_name="push_outbox")
    op.create_index(
        "ix_push_outbox_parked",
        "push_outbox",
        ["company_id", "no"],
        unique=False,
        sqlite_where=sa.text("parked_ms IS NOT NULL"),
        postgresql_where=sa.text("parked_ms IS NOT NULL"),
    )
    op.create_index(
        "ix_push_outbox_waiting",
        "push_outbox",
        ["company_id", "channel", "no"],
        unique=False,
        sqlite_where=sa.text("parked_ms IS NULL"),
        postgresql_where=sa.text("parked_ms IS NULL"),
    )
