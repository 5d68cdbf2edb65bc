"""Accounts, delegation, carrier lines, outboxes; trips and events outlive their sensor."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Go to this schema."""
    for outliving in ("trip", "device_event"):
        with op.batch_alter_table(outliving) as batch:
            batch.alter_column("sensor_id", existing_type=sa.String(length=36), nullable=True)
    op.create_table(
        "carrier_action",
        sa.Column("account_id", sa.String(length=36), nullable=False, comment="the carrier's account"),
        sa.Column("action_id", sa.String(length=255), nullable=False, comment="the carrier's own number of the action"),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.String(length=64), nullable=False, comment="SHA-256 of what was asked"),
        sa.Column("outcome", sa.LargeBinary(), nullable=False, comment="JSON of what was answered"),
        sa.PrimaryKeyConstraint("account_id", "action_id", name=op.f("pk_carrier_action")),
        comment="actions that a carrier sent, so that one sent twice is done once",
    )
    op.create_table(
        "erasure",
        sa.Column("id", sa.String(length=36), nullable=False, comment="what was deleted"),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_erasure")),
        comment="deleted things whose driving data is still to be deleted, a little at a time",
    )
    op.create_table(
        "mail_outbox",
        sa.Column("no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column(
            "kind", sa.String(length=32), nullable=False, comment="which letter; its secret is made when it is sent"
        ),
        sa.Column("recipient", sa.String(length=255), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=True),
        sa.Column("application_id", sa.String(length=36), nullable=True),
        sa.Column("due_ms", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_error", sa.String(length=255), nullable=True),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_mail_outbox")),
        comment="mails to send",
    )
    op.create_index("ix_mail_outbox_due", "mail_outbox", ["due_ms"], unique=False)
    op.create_table(
        "push_outbox",
        sa.Column("no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False, comment="`webhook-id`: the same at every attempt"),
        sa.Column("company_id", sa.String(length=36), nullable=False, comment="the receiver"),
        sa.Column("sensor_id", sa.String(length=36), nullable=False),
        sa.Column(
            "selector",
            sa.SmallInteger(),
            nullable=False,
            comment="number of notifyMsgType that selected it (spec/push 2)",
        ),
        sa.Column("body", sa.LargeBinary(), nullable=False, comment="JSON to send"),
        sa.Column("due_ms", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_error", sa.String(length=255), nullable=True),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_push_outbox")),
        comment="messages to customers' servers",
    )
    op.create_index("ix_push_outbox_company", "push_outbox", ["company_id", "no"], unique=False)
    op.create_index("ix_push_outbox_due", "push_outbox", ["due_ms", "no"], unique=False)
    op.create_table(
        "service_application",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("service_name", sa.String(length=255), nullable=False),
        sa.Column("company_name", sa.String(length=255), nullable=False),
        sa.Column("contact_name", sa.String(length=255), nullable=False),
        sa.Column("mobile", sa.String(length=255), nullable=False),
        sa.Column("email", sa.String(length=255), nullable=False),
        sa.Column("login", sa.String(length=255), nullable=False, comment="e-mail in the form compared at login"),
        sa.Column("introduction", sa.Text(), nullable=False),
        sa.Column("department", sa.String(length=255), nullable=True),
        sa.Column("provider_manager_name", sa.String(length=255), nullable=True),
        sa.Column("provider_manager_email", sa.String(length=255), nullable=True),
        sa.Column("notify_host", sa.String(length=255), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False, comment="domain/applications.py"),
        sa.Column("decided_ms", sa.BigInteger(), nullable=True),
        sa.Column("decided_by_id", sa.String(length=36), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True, comment="told to the applicant when rejected"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service_application")),
        comment="applications for a service account",
    )
    op.create_index("ix_service_application_created", "service_application", ["created_ms", "id"], unique=False)
    op.create_index("ix_service_application_state", "service_application", ["state", "created_ms", "id"], unique=False)
    op.create_index(
        "uq_service_application_open",
        "service_application",
        ["login"],
        unique=True,
        sqlite_where=sa.text("state = 'SUBMITTED'"),
        postgresql_where=sa.text("state = 'SUBMITTED'"),
    )
    op.create_table(
        "simulated_line",
        sa.Column("mdn", sa.String(length=32), nullable=False),
        sa.Column("lifted_by", sa.String(length=36), nullable=False, comment="the request that lifted its pause last"),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("mdn", name=op.f("pk_simulated_line")),
        comment="what the simulated carrier knows of its lines",
    )
    op.create_table(
        "company_relation",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("from_company_id", sa.String(length=36), nullable=False),
        sa.Column("to_company_id", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(["from_company_id"], ["company.id"], name=op.f("fk_company_relation_from_company_id")),
        sa.ForeignKeyConstraint(["to_company_id"], ["company.id"], name=op.f("fk_company_relation_to_company_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_company_relation")),
        comment="companies that one may delegate vehicles to",
    )
    op.create_index("ix_company_relation_to", "company_relation", ["to_company_id"], unique=False)
    op.create_index("uq_company_relation_pair", "company_relation", ["from_company_id", "to_company_id"], unique=True)
    op.create_table(
        "password_link",
        sa.Column(
            "token_hash", sa.String(length=64), nullable=False, comment="SHA-256 of the one-time token in the mail"
        ),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["account.id"], name=op.f("fk_password_link_user_id")),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_password_link")),
        comment="one-time links to set a password",
    )
    op.create_index("ix_password_link_expires", "password_link", ["expires_ms"], unique=False)
    op.create_index("ix_password_link_user", "password_link", ["user_id"], unique=False)
    op.create_table(
        "refresh_session",
        sa.Column("id", sa.String(length=36), nullable=False, comment="one for each log-in"),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=False),
        sa.Column("current", sa.String(length=36), nullable=False, comment="`jti` of the refresh token that is good"),
        sa.Column("previous", sa.String(length=36), nullable=True, comment="the one before, still good for a moment"),
        sa.Column("rotated_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["account.id"], name=op.f("fk_refresh_session_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_refresh_session")),
        comment="refresh tokens that may be used",
    )
    op.create_index("ix_refresh_session_expires", "refresh_session", ["expires_ms"], unique=False)
    op.create_index("ix_refresh_session_user", "refresh_session", ["user_id"], unique=False)
    op.create_table(
        "carrier_line",
        sa.Column("sensor_id", sa.String(length=36), nullable=False),
        sa.Column("mdn", sa.String(length=32), nullable=True, comment="telephone number; null: the line was ended"),
        sa.Column("nw_status", sa.String(length=2), nullable=False, comment="domain/lines.py"),
        sa.Column("subscription", sa.String(length=255), nullable=True, comment="plan code"),
        sa.Column("imsi", sa.String(length=32), nullable=True),
        sa.Column("iccid", sa.String(length=32), nullable=True),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.Column(
            "claimed_by",
            sa.String(length=36),
            nullable=True,
            comment="the call to the carrier that is under way for this line",
        ),
        sa.Column("claimed_until_ms", sa.BigInteger(), nullable=True, comment="when that call is given up as lost"),
        sa.ForeignKeyConstraint(["sensor_id"], ["sensor.id"], name=op.f("fk_carrier_line_sensor_id")),
        sa.PrimaryKeyConstraint("sensor_id", name=op.f("pk_carrier_line")),
        sa.UniqueConstraint("mdn", name=op.f("uq_carrier_line_mdn")),
        comment="lines of devices on a carrier's network",
    )
    op.drop_index(op.f("ix_account_company_id"), table_name="account")
    op.create_index("ix_account_list", "account", ["company_id", "authority", "name", "id"], unique=False)
    op.create_index("ix_company_list", "company", ["service_type", "name", "id"], unique=False)
    op.create_index("ix_company_name", "company", ["name", "id"], unique=False)
    op.create_index("ix_company_registered_by", "company", ["registered_by_id"], unique=False)
    op.create_index(
        "ix_device_event_user",
        "device_event",
        ["user_id"],
        unique=False,
        sqlite_where=sa.text("user_id IS NOT NULL"),
        postgresql_where=sa.text("user_id IS NOT NULL"),
    )
    op.drop_index(op.f("ix_sensor_vehicle_id"), table_name="sensor")
    op.create_index(
        "ix_sensor_vehicle_id",
        "sensor",
        ["vehicle_id"],
        unique=False,
        sqlite_where=sa.text("vehicle_id IS NOT NULL"),
        postgresql_where=sa.text("vehicle_id IS NOT NULL"),
    )
    op.create_index(
        "ix_sensor_unmounted",
        "sensor",
        ["company_id", "serial_no", "id"],
        unique=False,
        sqlite_where=sa.text("vehicle_id IS NULL"),
        postgresql_where=sa.text("vehicle_id IS NULL"),
    )
    op.create_index(
        "ix_trip_driving",
        "trip",
        ["company_id", "vehicle_id"],
        unique=False,
        sqlite_where=sa.text("state = 'OPEN'"),
        postgresql_where=sa.text("state = 'OPEN'"),
    )
    op.drop_index(op.f("ix_vehicle_director_id"), table_name="vehicle")
    op.create_index("ix_vehicle_director_id", "vehicle", ["director_id", "vehicle_no", "id"], unique=False)
    op.create_index(
        "ix_vehicle_driven",
        "vehicle",
        ["current_driver_id"],
        unique=False,
        sqlite_where=sa.text("current_driver_id IS NOT NULL"),
        postgresql_where=sa.text("current_driver_id IS NOT NULL"),
    )
    op.drop_index(op.f("ix_vehicle_company_to"), table_name="vehicle_company")
    op.create_index(
        "ix_vehicle_company_to", "vehicle_company", ["to_company_id", "from_company_id", "vehicle_id"], unique=False
    )
    op.create_index("ix_vehicle_company_from", "vehicle_company", ["from_company_id", "to_company_id"], unique=False)
    op.create_index("ix_vehicle_score_user", "vehicle_score", ["user_id"], unique=False)
    op.create_index("ix_vehicle_user_company", "vehicle_user", ["company_id", "vehicle_id"], unique=False)
