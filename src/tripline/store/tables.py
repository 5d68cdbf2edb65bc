"""Every table. Ids are canonical UUID text; instants are epoch milliseconds; `no` is a time-ordered row number.

Rows that arrive by the thousand (`microtrip`, `gps_event`, `device_event`, `rejected_message`) are keyed by `no`
(`domain/ids.py`), so inserts append and a page starts by key. `trip.no` is what microtrips point to.

The schema of a database in use is made by `migrations/`; `tests/integration/test_migrations.py` holds both equal.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Uuid = String(36)
RowNumber = BigInteger().with_variant(Integer(), "sqlite")
"""INTEGER PRIMARY KEY is SQLite's own row number: no second tree."""

secret = Table(
    "secret",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", LargeBinary, nullable=False),
    comment="keys made on first start: token signing key, node of the id maker",
)

company = Table(
    "company",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("name", String(255), nullable=False),
    Column("region", String(255)),
    Column("service_type", String(255), nullable=False),
    Column("master", Boolean, nullable=False),
    Column("master_id", Uuid, nullable=False),
    Column("registered_by_id", Uuid, comment="company whose account registered this one"),
    Column("pic_name", String(255)),
    Column("pic_phone", String(255)),
    Column("pic_email", String(255)),
    Column("pic_division", String(255)),
    Column("provider_manager_name", String(255)),
    Column("provider_manager_email", String(255)),
    Column("cooperation_task", Text),
    Column("description", Text),
    Column("notify_host", String(255)),
    Column("notify_msg_type", Text, comment="JSON of what was sent, so that answers echo it (push.md N2)"),
    Column("rpc_notify_host", String(255)),
    Column("rpc_notify_port", Integer),
    Column("rpc_notify_base_path", String(255)),
    Column("token_prefix", String(5), nullable=False, unique=True),
)
Index("ix_company_master_id", company.c.master_id)
Index(
    "uq_company_operator_service_type",
    company.c.service_type,
    unique=True,
    sqlite_where=text("master"),
    postgresql_where=text("master"),
)

account = Table(
    "account",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    Column(
        "company_id",
        Uuid,
        ForeignKey("company.id"),
        comment="null: platform administrator, or granted and not registered yet",
    ),
    Column("authority", String(16), nullable=False),
    Column("name", String(255), nullable=False),
    Column("email", String(255), nullable=False, comment="as given; answers echo it"),
    Column("login", String(255), nullable=False, unique=True, comment="e-mail in the form compared at login"),
    Column("phone", String(255)),
    Column("division", String(255)),
    Column("password_hash", String(255), nullable=False),
    Column("password_updated_ms", BigInteger, nullable=False),
    Column("additional_info", Text),
    Column("enabled", Boolean, nullable=False),
    Column("latest_trip_id", Uuid),
)
Index("ix_account_company_id", account.c.company_id, account.c.authority)

vehicle = Table(
    "vehicle",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("company_id", Uuid, ForeignKey("company.id"), nullable=False),
    Column("service_type", String(255), nullable=False),
    Column("director_id", Uuid),
    Column("current_driver_id", Uuid),
    Column("latest_trip_id", Uuid),
    Column("last_trip_msg_type", String(16)),
    Column("vehicle_no", String(255), nullable=False),
    Column("vendor", String(255)),
    Column("model_code", String(255)),
    Column("model_name", String(255)),
    Column("model_year", Float),
    Column("mission_type", String(16)),
    Column("fuel_type", String(16)),
    Column("mileage", Float, nullable=False, comment="km"),
    Column("category", String(16)),
    Column("usage", String(255)),
    Column("displacement", Float, nullable=False),
    Column("additional_info", Text),
    Column("status", String(16), nullable=False),
)
Index("uq_vehicle_number", vehicle.c.service_type, vehicle.c.vehicle_no, unique=True)
Index("ix_vehicle_company", vehicle.c.company_id, vehicle.c.vehicle_no, vehicle.c.id)
Index("ix_vehicle_director_id", vehicle.c.director_id)

sensor = Table(
    "sensor",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("company_id", Uuid, ForeignKey("company.id"), nullable=False),
    Column("service_type", String(255), nullable=False),
    Column("director_id", Uuid),
    Column("vehicle_id", Uuid, ForeignKey("vehicle.id")),
    Column("serial_no", String(255), nullable=False),
    Column("credentials_id", String(20), unique=True),
    Column("vendor", String(255)),
    Column("type", String(255), nullable=False),
    Column("activation_required", Boolean, nullable=False),
    Column("mission_type", String(16)),
    Column("additional_info", Text),
    Column("status", String(16), nullable=False),
    Column("last_trip_msg_type", String(16)),
)
Index("uq_sensor_serial", sensor.c.service_type, sensor.c.serial_no, unique=True)
Index("ix_sensor_company", sensor.c.company_id, sensor.c.serial_no, sensor.c.id)
Index("ix_sensor_vehicle_id", sensor.c.vehicle_id)

vehicle_company = Table(
    "vehicle_company",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("vehicle_id", Uuid, ForeignKey("vehicle.id"), nullable=False),
    Column("from_company_id", Uuid, ForeignKey("company.id"), nullable=False),
    Column("to_company_id", Uuid, ForeignKey("company.id"), nullable=False),
    Column("automatic", Boolean, nullable=False, comment="partner to operator, at creation; cannot be undone"),
    comment="vehicles lent to companies",
)
Index("uq_vehicle_company_pair", vehicle_company.c.vehicle_id, vehicle_company.c.to_company_id, unique=True)
Index("ix_vehicle_company_to", vehicle_company.c.to_company_id, vehicle_company.c.vehicle_id)

vehicle_user = Table(
    "vehicle_user",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("vehicle_id", Uuid, ForeignKey("vehicle.id"), nullable=False),
    Column("company_id", Uuid, ForeignKey("company.id"), nullable=False),
    Column("user_id", Uuid, ForeignKey("account.id"), nullable=False),
    Column("user_role", String(24), nullable=False, comment="DELEGATED_DIRECTOR or DRIVER"),
    comment="rights of directors and drivers on single vehicles",
)
Index(
    "uq_vehicle_user_right",
    vehicle_user.c.vehicle_id,
    vehicle_user.c.user_id,
    vehicle_user.c.user_role,
    unique=True,
)
Index("ix_vehicle_user_user", vehicle_user.c.user_id, vehicle_user.c.vehicle_id)

trip = Table(
    "trip",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False),
    Column("id", Uuid, nullable=False, unique=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("company_id", Uuid, nullable=False),
    Column("sensor_id", Uuid, nullable=False),
    Column("vehicle_id", Uuid, comment="null: the sensor was not mapped"),
    Column("user_id", Uuid, comment="driver when the trip opened"),
    Column("service_type", String(255), nullable=False),
    Column("device_type", String(32), nullable=False),
    Column("tid", BigInteger, comment="the device's own counter, not unique"),
    Column("parking", Boolean, nullable=False),
    Column("state", String(16), nullable=False, comment="domain/trips.py"),
    Column("start_ms", BigInteger),
    Column("end_ms", BigInteger, comment="null while open"),
    Column("closed_ms", BigInteger, comment="when the platform closed it"),
    Column("message_ty", SmallInteger, comment="ty of the trip message, as sent"),
    Column("message_key", String(64), comment="what makes a second trip message a redelivery (I3)"),
    Column("distance_m", Float, comment="the trip message's dis"),
    Column("payload", LargeBinary, comment="JSON of the trip message's pld, as sent"),
    Column("not_scored", String(16), comment="why there is no score (docs/scoring.md)"),
)
Index("ix_trip_vehicle", trip.c.vehicle_id, trip.c.created_ms, trip.c.no)
Index("ix_trip_user", trip.c.user_id, trip.c.created_ms, trip.c.no)
Index("ix_trip_sensor", trip.c.sensor_id, trip.c.no)
Index("ix_trip_ended", trip.c.sensor_id, trip.c.closed_ms)
Index("ix_trip_message", trip.c.sensor_id, trip.c.message_key)
Index("ix_trip_open", trip.c.no, sqlite_where=text("state = 'OPEN'"), postgresql_where=text("state = 'OPEN'"))

microtrip = Table(
    "microtrip",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False, comment="also says when it was created"),
    Column("trip_no", RowNumber, nullable=False),
    Column("id", Uuid, nullable=False),
    Column("ts", BigInteger, comment="header ts, as sent"),
    Column("ty", SmallInteger, nullable=False, comment="message number, as sent"),
    Column("payload", LargeBinary, nullable=False, comment="JSON of pld, as sent"),
    Column("samples", LargeBinary, nullable=False, comment="domain/samples.py"),
)
# SQLite ends every entry of an index with the row's key, here `no`: named as well, it would be in each of them twice.
Index("ix_microtrip_trip", microtrip.c.trip_no)

device_event = Table(
    "device_event",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False),
    Column("id", Uuid, nullable=False),
    Column("company_id", Uuid, nullable=False),
    Column("sensor_id", Uuid, nullable=False),
    Column("vehicle_id", Uuid),
    Column("user_id", Uuid),
    Column("trip_id", Uuid),
    Column("device_type", String(32), nullable=False),
    Column("ty", Integer, nullable=False, comment="event number after classification (device-messages.md 3.4)"),
    Column("sent_ty", Integer, comment="number as sent; null: headerless"),
    Column("ts", BigInteger, comment="header ts, as sent"),
    Column("event_ms", BigInteger, nullable=False),
    Column("lat", Float),
    Column("lon", Float),
    Column("payload", LargeBinary, nullable=False),
)
Index("ix_device_event_vehicle", device_event.c.vehicle_id, device_event.c.no)
Index("ix_device_event_sensor", device_event.c.sensor_id, device_event.c.no)

sensor_attribute = Table(
    "sensor_attribute",
    metadata,
    Column("sensor_id", Uuid, primary_key=True),
    Column("name", String(64), primary_key=True, comment="event number as text, `cm`, or `latest`"),
    Column("updated_ms", BigInteger, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    comment="newest value of each attribute of a sensor",
)

rejected_message = Table(
    "rejected_message",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False),
    Column("source", String(16), nullable=False, comment="device or bus"),
    Column("sensor_id", Uuid),
    Column("topic", String(255), nullable=False),
    Column("reason", String(64), nullable=False, comment="observe.REJECTS label"),
    Column("detail", String(255)),
    Column("body", LargeBinary, nullable=False),
)
Index("ix_rejected_message_sensor", rejected_message.c.sensor_id, rejected_message.c.no)

scoring_job = Table(
    "scoring_job",
    metadata,
    Column("trip_no", RowNumber, primary_key=True, autoincrement=False),
    Column("due_ms", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("last_error", String(255)),
)
Index("ix_scoring_job_due", scoring_job.c.due_ms)

driving_score = Table(
    "driving_score",
    metadata,
    Column("trip_no", RowNumber, primary_key=True, autoincrement=False),
    Column("trip_id", Uuid, nullable=False, unique=True),
    Column("created_ms", BigInteger, nullable=False, comment="time of the analysis"),
    Column("vehicle_id", Uuid, nullable=False),
    Column("user_id", Uuid),
    Column("score", Float, nullable=False),
    Column("accel", Integer, nullable=False),
    Column("de_accel", Integer, nullable=False),
    Column("over_speed", Integer, nullable=False),
    Column("over_speed_s", Float, nullable=False),
    Column("distance_m", Float, nullable=False),
)
Index(
    "ix_driving_score_vehicle",
    driving_score.c.vehicle_id,
    driving_score.c.created_ms,
    driving_score.c.trip_no,
)
# Holds all that an accumulated score is made of, so that it is worked out anew without touching the rows.
Index("ix_driving_score_sums", driving_score.c.vehicle_id, driving_score.c.score, driving_score.c.distance_m)
Index("ix_driving_score_user", driving_score.c.user_id, driving_score.c.created_ms, driving_score.c.trip_no)

gps_event = Table(
    "gps_event",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False),
    Column("id", Uuid, nullable=False, unique=True),
    Column("trip_no", RowNumber, nullable=False),
    Column("trip_id", Uuid, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("vehicle_id", Uuid, nullable=False),
    Column("user_id", Uuid),
    Column("device_type", String(32), nullable=False),
    Column("event_ms", BigInteger, nullable=False),
    Column(
        "event_type",
        SmallInteger,
        nullable=False,
        comment="1 start 2 acceleration 3 deceleration 4 stop 5 overspeed",
    ),
    Column("speed_mh", Float, nullable=False, comment="metres per hour"),
    Column("lat", Float, nullable=False),
    Column("lon", Float, nullable=False),
    Column("info", String(255), nullable=False, comment="JSON text: id, maxSpd, rank of the road"),
)
Index(
    "ix_gps_event_vehicle",
    gps_event.c.vehicle_id,
    gps_event.c.created_ms,
    gps_event.c.event_ms,
    gps_event.c.no,
)
Index("ix_gps_event_user", gps_event.c.user_id, gps_event.c.created_ms, gps_event.c.event_ms, gps_event.c.no)
Index("ix_gps_event_trip", gps_event.c.trip_no)

vehicle_score = Table(
    "vehicle_score",
    metadata,
    Column("vehicle_id", Uuid, primary_key=True),
    Column("created_ms", BigInteger, nullable=False, comment="time of the last aggregation"),
    Column("user_id", Uuid),
    Column("count", Integer, nullable=False),
    Column("score", Float, nullable=False),
    Column("distance_m", Float, nullable=False),
)
