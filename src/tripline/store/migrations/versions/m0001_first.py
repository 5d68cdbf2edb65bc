"""The first schema: registration, trips, scores."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
BY_TIME = "RANGE (no)"


def upgrade() -> None:
    """Go to this schema."""
    partitioned = op.get_context().dialect.name == "postgresql"
    op.create_table(
        "company",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("region", sa.String(length=255), nullable=True),
        sa.Column("service_type", sa.String(length=255), nullable=False),
        sa.Column("master", sa.Boolean(), nullable=False),
        sa.Column("master_id", sa.String(length=36), nullable=False),
        sa.Column(
            "registered_by_id", sa.String(length=36), nullable=True, comment="company whose account registered this one"
        ),
        sa.Column("pic_name", sa.String(length=255), nullable=True),
        sa.Column("pic_phone", sa.String(length=255), nullable=True),
        sa.Column("pic_email", sa.String(length=255), nullable=True),
        sa.Column("pic_division", sa.String(length=255), nullable=True),
        sa.Column("provider_manager_name", sa.String(length=255), nullable=True),
        sa.Column("provider_manager_email", sa.String(length=255), nullable=True),
        sa.Column("cooperation_task", sa.Text(), nullable=True),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("notify_host", sa.String(length=255), nullable=True),
        sa.Column(
            "notify_msg_type",
            sa.Text(),
            nullable=True,
            comment="JSON of what was sent, so that answers echo it (spec/push N2)",
        ),
        sa.Column("rpc_notify_host", sa.String(length=255), nullable=True),
        sa.Column("rpc_notify_port", sa.Integer(), nullable=True),
        sa.Column("rpc_notify_base_path", sa.String(length=255), nullable=True),
        sa.Column("token_prefix", sa.String(length=5), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_company")),
        sa.UniqueConstraint("token_prefix", name=op.f("uq_company_token_prefix")),
    )
    op.create_index("ix_company_master_id", "company", ["master_id"], unique=False)
    op.create_index(
        "uq_company_operator_service_type",
        "company",
        ["service_type"],
        unique=True,
        sqlite_where=sa.text("master"),
        postgresql_where=sa.text("master"),
    )
    op.create_table(
        "device_event",
        sa.Column("no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("company_id", sa.String(length=36), nullable=False),
        sa.Column("sensor_id", sa.String(length=36), nullable=False),
        sa.Column("vehicle_id", sa.String(length=36), nullable=True),
        sa.Column("user_id", sa.String(length=36), nullable=True),
        sa.Column("trip_id", sa.String(length=36), nullable=True),
        sa.Column("device_type", sa.String(length=32), nullable=False),
        sa.Column(
            "ty", sa.Integer(), nullable=False, comment="event number after classification (spec/device-messages 3.4)"
        ),
        sa.Column("sent_ty", sa.Integer(), nullable=True, comment="number as sent; null: headerless"),
        sa.Column("ts", sa.BigInteger(), nullable=True, comment="header ts, as sent"),
        sa.Column("event_ms", sa.BigInteger(), nullable=False),
        sa.Column("lat", sa.Float(), nullable=True),
        sa.Column("lon", sa.Float(), nullable=True),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_device_event")),
    )
    op.create_index("ix_device_event_sensor", "device_event", ["sensor_id", "no"], unique=False)
    op.create_index("ix_device_event_vehicle", "device_event", ["vehicle_id", "no"], unique=False)
    op.create_table(
        "driving_score",
        sa.Column("trip_no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("trip_id", sa.String(length=36), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False, comment="time of the analysis"),
        sa.Column("vehicle_id", sa.String(length=36), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=True),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("accel", sa.Integer(), nullable=False),
        sa.Column("de_accel", sa.Integer(), nullable=False),
        sa.Column("over_speed", sa.Integer(), nullable=False),
        sa.Column("over_speed_s", sa.Float(), nullable=False),
        sa.Column("distance_m", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("trip_no", name=op.f("pk_driving_score")),
        sa.UniqueConstraint("trip_id", name=op.f("uq_driving_score_trip_id")),
    )
    op.create_index("ix_driving_score_sums", "driving_score", ["vehicle_id", "score", "distance_m"], unique=False)
    op.create_index("ix_driving_score_user", "driving_score", ["user_id", "created_ms", "trip_no"], unique=False)
    op.create_index("ix_driving_score_vehicle", "driving_score", ["vehicle_id", "created_ms", "trip_no"], unique=False)
    op.create_table(
        "gps_event",
        sa.Column("no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("trip_no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("trip_id", sa.String(length=36), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("vehicle_id", sa.String(length=36), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=True),
        sa.Column("device_type", sa.String(length=32), nullable=False),
        sa.Column("event_ms", sa.BigInteger(), nullable=False),
        sa.Column(
            "event_type",
            sa.SmallInteger(),
            nullable=False,
            comment="1 start 2 acceleration 3 deceleration 4 stop 5 overspeed",
        ),
        sa.Column("speed_mh", sa.Float(), nullable=False, comment="metres per hour"),
        sa.Column("lat", sa.Float(), nullable=False),
        sa.Column("lon", sa.Float(), nullable=False),
        sa.Column("info", sa.String(length=255), nullable=False, comment="JSON text: id, maxSpd, rank of the road"),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_gps_event")),
        *([] if partitioned else [sa.UniqueConstraint("id", name=op.f("uq_gps_event_id"))]),
        postgresql_partition_by=BY_TIME,
    )
    op.create_index("ix_gps_event_trip", "gps_event", ["trip_no"], unique=False)
    op.create_index("ix_gps_event_user", "gps_event", ["user_id", "created_ms", "event_ms", "no"], unique=False)
    op.create_index("ix_gps_event_vehicle", "gps_event", ["vehicle_id", "created_ms", "event_ms", "no"], unique=False)
    op.create_table(
        "microtrip",
        sa.Column(
            "no",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
            comment="also says when it was created",
        ),
        sa.Column("trip_no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("ts", sa.BigInteger(), nullable=True, comment="header ts, as sent"),
        sa.Column("ty", sa.SmallInteger(), nullable=False, comment="message number, as sent"),
        sa.Column("payload", sa.LargeBinary(), nullable=False, comment="JSON of pld, as sent"),
        sa.Column("samples", sa.LargeBinary(), nullable=False, comment="domain/samples.py"),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_microtrip")),
        postgresql_partition_by=BY_TIME,
    )
    if partitioned:
        op.create_index("ix_microtrip_trip_no", "microtrip", ["trip_no", "no"], unique=False)
    else:
        op.create_index("ix_microtrip_trip", "microtrip", ["trip_no"], unique=False)
    op.create_table(
        "rejected_message",
        sa.Column("no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False, comment="device or bus"),
        sa.Column("sensor_id", sa.String(length=36), nullable=True),
        sa.Column("topic", sa.String(length=255), nullable=False),
        sa.Column("reason", sa.String(length=64), nullable=False, comment="observe.REJECTS label"),
        sa.Column("detail", sa.String(length=255), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_rejected_message")),
        postgresql_partition_by=BY_TIME,
    )
    op.create_index("ix_rejected_message_sensor", "rejected_message", ["sensor_id", "no"], unique=False)
    op.create_table(
        "scoring_job",
        sa.Column("trip_no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("due_ms", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_error", sa.String(length=255), nullable=True),
        sa.PrimaryKeyConstraint("trip_no", name=op.f("pk_scoring_job")),
    )
    op.create_index("ix_scoring_job_due", "scoring_job", ["due_ms"], unique=False)
    op.create_table(
        "secret",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_secret")),
        comment="keys made on first start: token signing key, node of the id maker",
    )
    op.create_table(
        "sensor_attribute",
        sa.Column("sensor_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False, comment="event number as text, `cm`, or `latest`"),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sensor_id", "name", name=op.f("pk_sensor_attribute")),
        comment="newest value of each attribute of a sensor",
    )
    op.create_table(
        "trip",
        sa.Column("no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("company_id", sa.String(length=36), nullable=False),
        sa.Column("sensor_id", sa.String(length=36), nullable=False),
        sa.Column("vehicle_id", sa.String(length=36), nullable=True, comment="null: the sensor was not mapped"),
        sa.Column("user_id", sa.String(length=36), nullable=True, comment="driver when the trip opened"),
        sa.Column("service_type", sa.String(length=255), nullable=False),
        sa.Column("device_type", sa.String(length=32), nullable=False),
        sa.Column("tid", sa.BigInteger(), nullable=True, comment="the device's own counter, not unique"),
        sa.Column("parking", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False, comment="domain/trips.py"),
        sa.Column("start_ms", sa.BigInteger(), nullable=True),
        sa.Column("end_ms", sa.BigInteger(), nullable=True, comment="null while open"),
        sa.Column("closed_ms", sa.BigInteger(), nullable=True, comment="when the platform closed it"),
        sa.Column("message_ty", sa.SmallInteger(), nullable=True, comment="ty of the trip message, as sent"),
        sa.Column(
            "message_key",
            sa.String(length=64),
            nullable=True,
            comment="what makes a second trip message a redelivery (I3)",
        ),
        sa.Column("distance_m", sa.Float(), nullable=True, comment="the trip message's dis"),
        sa.Column("payload", sa.LargeBinary(), nullable=True, comment="JSON of the trip message's pld, as sent"),
        sa.Column("not_scored", sa.String(length=16), nullable=True, comment="why there is no score (docs/scoring.md)"),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_trip")),
        sa.UniqueConstraint("id", name=op.f("uq_trip_id")),
    )
    op.create_index(
        "ix_trip_open",
        "trip",
        ["no"],
        unique=False,
        sqlite_where=sa.text("state = 'OPEN'"),
        postgresql_where=sa.text("state = 'OPEN'"),
    )
    op.create_index("ix_trip_sensor", "trip", ["sensor_id", "no"], unique=False)
    op.create_index("ix_trip_ended", "trip", ["sensor_id", "closed_ms"], unique=False)
    op.create_index("ix_trip_message", "trip", ["sensor_id", "message_key"], unique=False)
    op.create_index("ix_trip_user", "trip", ["user_id", "created_ms", "no"], unique=False)
    op.create_index("ix_trip_vehicle", "trip", ["vehicle_id", "created_ms", "no"], unique=False)
    op.create_table(
        "vehicle_score",
        sa.Column("vehicle_id", sa.String(length=36), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False, comment="time of the last aggregation"),
        sa.Column("user_id", sa.String(length=36), nullable=True),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("distance_m", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("vehicle_id", name=op.f("pk_vehicle_score")),
    )
    op.create_table(
        "account",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column(
            "company_id",
            sa.String(length=36),
            nullable=True,
            comment="null: platform administrator, or granted and not registered yet",
        ),
        sa.Column("authority", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("email", sa.String(length=255), nullable=False, comment="as given; answers echo it"),
        sa.Column("login", sa.String(length=255), nullable=False, comment="e-mail in the form compared at login"),
        sa.Column("phone", sa.String(length=255), nullable=True),
        sa.Column("division", sa.String(length=255), nullable=True),
        sa.Column("password_hash", sa.String(length=255), nullable=False),
        sa.Column("password_updated_ms", sa.BigInteger(), nullable=False),
        sa.Column("additional_info", sa.Text(), nullable=True),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("latest_trip_id", sa.String(length=36), nullable=True),
        sa.ForeignKeyConstraint(["company_id"], ["company.id"], name=op.f("fk_account_company_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_account")),
        sa.UniqueConstraint("login", name=op.f("uq_account_login")),
    )
    op.create_index("ix_account_company_id", "account", ["company_id", "authority"], unique=False)
    op.create_table(
        "vehicle",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("company_id", sa.String(length=36), nullable=False),
        sa.Column("service_type", sa.String(length=255), nullable=False),
        sa.Column("director_id", sa.String(length=36), nullable=True),
        sa.Column("current_driver_id", sa.String(length=36), nullable=True),
        sa.Column("latest_trip_id", sa.String(length=36), nullable=True),
        sa.Column("last_trip_msg_type", sa.String(length=16), nullable=True),
        sa.Column("vehicle_no", sa.String(length=255), nullable=False),
        sa.Column("vendor", sa.String(length=255), nullable=True),
        sa.Column("model_code", sa.String(length=255), nullable=True),
        sa.Column("model_name", sa.String(length=255), nullable=True),
        sa.Column("model_year", sa.Float(), nullable=True),
        sa.Column("mission_type", sa.String(length=16), nullable=True),
        sa.Column("fuel_type", sa.String(length=16), nullable=True),
        sa.Column("mileage", sa.Float(), nullable=False, comment="km"),
        sa.Column("category", sa.String(length=16), nullable=True),
        sa.Column("usage", sa.String(length=255), nullable=True),
        sa.Column("displacement", sa.Float(), nullable=False),
        sa.Column("additional_info", sa.Text(), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.ForeignKeyConstraint(["company_id"], ["company.id"], name=op.f("fk_vehicle_company_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_vehicle")),
    )
    op.create_index("ix_vehicle_company", "vehicle", ["company_id", "vehicle_no", "id"], unique=False)
    op.create_index("ix_vehicle_director_id", "vehicle", ["director_id"], unique=False)
    op.create_index("uq_vehicle_number", "vehicle", ["service_type", "vehicle_no"], unique=True)
    op.create_table(
        "sensor",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("company_id", sa.String(length=36), nullable=False),
        sa.Column("service_type", sa.String(length=255), nullable=False),
        sa.Column("director_id", sa.String(length=36), nullable=True),
        sa.Column("vehicle_id", sa.String(length=36), nullable=True),
        sa.Column("serial_no", sa.String(length=255), nullable=False),
        sa.Column("credentials_id", sa.String(length=20), nullable=True),
        sa.Column("vendor", sa.String(length=255), nullable=True),
        sa.Column("type", sa.String(length=255), nullable=False),
        sa.Column("activation_required", sa.Boolean(), nullable=False),
        sa.Column("mission_type", sa.String(length=16), nullable=True),
        sa.Column("additional_info", sa.Text(), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("last_trip_msg_type", sa.String(length=16), nullable=True),
        sa.ForeignKeyConstraint(["company_id"], ["company.id"], name=op.f("fk_sensor_company_id")),
        sa.ForeignKeyConstraint(["vehicle_id"], ["vehicle.id"], name=op.f("fk_sensor_vehicle_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sensor")),
        sa.UniqueConstraint("credentials_id", name=op.f("uq_sensor_credentials_id")),
    )
    op.create_index("ix_sensor_company", "sensor", ["company_id", "serial_no", "id"], unique=False)
    op.create_index("ix_sensor_vehicle_id", "sensor", ["vehicle_id"], unique=False)
    op.create_index("uq_sensor_serial", "sensor", ["service_type", "serial_no"], unique=True)
    op.create_table(
        "vehicle_company",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("vehicle_id", sa.String(length=36), nullable=False),
        sa.Column("from_company_id", sa.String(length=36), nullable=False),
        sa.Column("to_company_id", sa.String(length=36), nullable=False),
        sa.Column(
            "automatic", sa.Boolean(), nullable=False, comment="partner to operator, at creation; cannot be undone"
        ),
        sa.ForeignKeyConstraint(["from_company_id"], ["company.id"], name=op.f("fk_vehicle_company_from_company_id")),
        sa.ForeignKeyConstraint(["to_company_id"], ["company.id"], name=op.f("fk_vehicle_company_to_company_id")),
        sa.ForeignKeyConstraint(["vehicle_id"], ["vehicle.id"], name=op.f("fk_vehicle_company_vehicle_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_vehicle_company")),
        comment="vehicles delegated to companies",
    )
    op.create_index("ix_vehicle_company_to", "vehicle_company", ["to_company_id", "vehicle_id"], unique=False)
    op.create_index("uq_vehicle_company_pair", "vehicle_company", ["vehicle_id", "to_company_id"], unique=True)
    op.create_table(
        "vehicle_user",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("vehicle_id", sa.String(length=36), nullable=False),
        sa.Column("company_id", sa.String(length=36), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("user_role", sa.String(length=24), nullable=False, comment="DELEGATED_DIRECTOR or DRIVER"),
        sa.ForeignKeyConstraint(["company_id"], ["company.id"], name=op.f("fk_vehicle_user_company_id")),
        sa.ForeignKeyConstraint(["user_id"], ["account.id"], name=op.f("fk_vehicle_user_user_id")),
        sa.ForeignKeyConstraint(["vehicle_id"], ["vehicle.id"], name=op.f("fk_vehicle_user_vehicle_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_vehicle_user")),
        comment="rights of directors and drivers on single vehicles",
    )
    op.create_index("ix_vehicle_user_user", "vehicle_user", ["user_id", "vehicle_id"], unique=False)
    op.create_index("uq_vehicle_user_right", "vehicle_user", ["vehicle_id", "user_id", "user_role"], unique=True)
