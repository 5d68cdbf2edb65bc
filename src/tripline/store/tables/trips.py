"""Tables of driving data: trips, microtrips, events, scores."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Table,
    UniqueConstraint,
)

from tripline.scoring.score import COUNTED
from tripline.store.tables.base import BY_TIME, RowNumber, Uuid, metadata, partial_index

ENVELOPE: Final = "of a message from the bus: JSON around its payload, as sent"
BUS_KEY: Final = "of a record from the bus: what makes a second delivery one (domain/bus.py)"

trip = Table(
    "trip",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False),
    Column("id", Uuid, nullable=False, unique=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("company_id", Uuid, nullable=False),
    Column("sensor_id", Uuid, comment="null: the sensor was deleted"),
    Column("vehicle_id", Uuid, comment="null: the sensor was not mapped"),
    Column("user_id", Uuid, comment="driver when the trip opened, unless corrected"),
    Column("service_type", String(255), nullable=False),
    Column("device_type", String(32), nullable=False),
    Column("tid", BigInteger, comment="the device's own counter, not unique"),
    Column("parking", Boolean, nullable=False),
    Column("state", String(16), nullable=False, comment="domain/trips.py"),
    Column("start_ms", BigInteger),
    Column("end_ms", BigInteger, comment="null while open"),
    Column("closed_ms", BigInteger, comment="when the platform closed it, or last added late samples to it"),
    Column("last_ms", BigInteger, comment="while open: its latest sample when it began or got an older one"),
    Column("until_ms", BigInteger, comment="later samples are another trip's; null: the gap alone decides"),
    Column("message_ty", SmallInteger, comment="ty of the trip message, as sent"),
    Column("message_key", String(64), comment="what makes a second trip message a redelivery (I3)"),
    Column("distance_m", Float, comment="the trip message's dis"),
    Column("payload", LargeBinary, comment="JSON of the trip message's pld, as sent"),
    Column("not_scored", String(32), comment="why there is no score (docs/scoring.md)"),
    Column("source", String(8), nullable=False, server_default="device", comment="device or bus"),
    Column("envelope", LargeBinary, comment=ENVELOPE),
    Column("quality", LargeBinary, comment="JSON of how good its samples were (scoring/quality.py); null: not judged"),
    Column("corrected_ms", BigInteger, comment="when the driver was corrected; null: no correction is in force"),
    Column("recorded_user_id", Uuid, comment="of a corrected trip: the driver that its messages name"),
)
Index("ix_trip_vehicle", trip.c.vehicle_id, trip.c.created_ms, trip.c.no)
Index("ix_trip_user", trip.c.user_id, trip.c.created_ms, trip.c.no)
# Trips by start. With `not_scored`, so that a walk along scored trips skips the others in the index.
Index("ix_trip_vehicle_start", trip.c.vehicle_id, trip.c.start_ms, trip.c.no, trip.c.not_scored)
partial_index(
    "ix_trip_user_start", trip.c.user_id, trip.c.start_ms, trip.c.no, trip.c.not_scored, where="user_id IS NOT NULL"
)
partial_index("ix_trip_recorded_user", trip.c.recorded_user_id, where="recorded_user_id IS NOT NULL")
Index("ix_trip_service_start", trip.c.service_type, trip.c.start_ms, trip.c.no)
Index("ix_trip_sensor", trip.c.sensor_id, trip.c.no)
Index("ix_trip_ended", trip.c.sensor_id, trip.c.closed_ms)
Index("ix_trip_sensor_end", trip.c.sensor_id, trip.c.end_ms)
Index("ix_trip_message", trip.c.sensor_id, trip.c.message_key)
partial_index("ix_trip_open", trip.c.no, where="state = 'OPEN'")


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
    Column("bus_key", BigInteger, comment=BUS_KEY),
    Column("envelope", LargeBinary, comment=ENVELOPE),
    info=BY_TIME,
)
# SQLite ends every entry of an index with the row's key, here `no`: named as well, it would be in each of them twice.
Index("ix_microtrip_trip", microtrip.c.trip_no).ddl_if(dialect="sqlite")
Index("ix_microtrip_trip_no", microtrip.c.trip_no, microtrip.c.no).ddl_if(dialect="postgresql")
partial_index("ix_microtrip_bus_key", microtrip.c.bus_key, where="bus_key IS NOT NULL")


device_event = Table(
    "device_event",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False),
    Column("id", Uuid, nullable=False),
    Column("company_id", Uuid, nullable=False),
    Column("sensor_id", Uuid, comment="null: the sensor was deleted"),
    Column("vehicle_id", Uuid),
    Column("user_id", Uuid),
    Column("trip_id", Uuid),
    Column("device_type", String(32), nullable=False),
    Column("ty", Integer, nullable=False, comment="event number after classification (spec/device-messages 3.4)"),
    Column("sent_ty", Integer, comment="number as sent; null: headerless"),
    Column("ts", BigInteger, comment="header ts, as sent"),
    Column("event_ms", BigInteger, nullable=False),
    Column("tid", BigInteger, comment="number of its trip, as sent"),
    Column("lat", Float),
    Column("lon", Float),
    Column("payload", LargeBinary, nullable=False),
    Column("bus_key", BigInteger, comment=BUS_KEY),
    Column("envelope", LargeBinary, comment=ENVELOPE),
)
Index("ix_device_event_vehicle", device_event.c.vehicle_id, device_event.c.no)
Index("ix_device_event_sensor", device_event.c.sensor_id, device_event.c.no)
partial_index("ix_device_event_user", device_event.c.user_id, where="user_id IS NOT NULL")
partial_index(
    "ix_device_event_early",
    device_event.c.sensor_id,
    device_event.c.event_ms,
    where="trip_id IS NULL AND bus_key IS NULL",
)
partial_index("ix_device_event_bus_key", device_event.c.bus_key, where="bus_key IS NOT NULL")
partial_index("ix_device_event_bus_id", device_event.c.id, where="bus_key IS NOT NULL")


delivery = Table(
    "delivery",
    metadata,
    Column("instant", BigInteger, primary_key=True, autoincrement=False, comment="header ts, else own time"),
    Column("mark", BigInteger, primary_key=True, autoincrement=False, comment="domain/deliveries.py"),
    Column("no", RowNumber, primary_key=True, autoincrement=False, comment="of the microtrip or device event"),
    comment="what devices delivered lately, to know a second delivery",
    info=BY_TIME,
    sqlite_with_rowid=False,
)


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
    Column("bus_partition", Integer, comment="of a message from the bus: where it stood"),
    Column("bus_offset", BigInteger),
    Column("company_id", Uuid, comment="whose it was when it came; null: nobody's"),
    Column("size", Integer, nullable=False, comment="room that it takes, bytes"),
    Column("messages", Integer, nullable=False, comment="how many messages the row stands for"),
    info=BY_TIME,
)
Index("ix_rejected_message_sensor", rejected_message.c.sensor_id, rejected_message.c.no)
Index("ix_rejected_message_company", rejected_message.c.company_id, rejected_message.c.no, rejected_message.c.size)


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
    *(Column(name, Integer, nullable=False) for name in COUNTED),
    Column("over_speed_s", Float, nullable=False),
    Column("distance_m", Float, nullable=False),
    Column("added_m", Float, nullable=False, server_default="0", comment="added to the distance by the policy"),
    Column("policy", Integer, nullable=False, comment="scoring_policy.no"),
    Column("company_id", Uuid, nullable=False, comment="of the trip"),
    Column("day", Integer, nullable=False, comment="on which the trip began, since 1970-01-01"),
    Column("driving_ms", BigInteger, nullable=False, comment="driving time"),
    Column("known_m", Integer, nullable=False, comment="distance with a limit from the map"),
    Column("vague_m", Integer, nullable=False, server_default="0", comment="distance, where harsh driving is unknown"),
)
Index("ix_driving_score_vehicle", driving_score.c.vehicle_id, driving_score.c.created_ms, driving_score.c.trip_no)
Index("ix_driving_score_user", driving_score.c.user_id, driving_score.c.created_ms, driving_score.c.trip_no)


trip_cover = Table(
    "trip_cover",
    metadata,
    Column("trip_no", RowNumber, primary_key=True, autoincrement=False),
    Column("vehicle_id", Uuid, nullable=False),
    Column("begin_ms", BigInteger, nullable=False),
    Column("end_ms", BigInteger, nullable=False),
    Column("spans", LargeBinary, nullable=False, comment="scoring/covers.py"),
    comment="the time that each trip covers which has a score, or would have one if it were no duplicate",
)
Index("ix_trip_cover_vehicle", trip_cover.c.vehicle_id, trip_cover.c.end_ms, trip_cover.c.begin_ms)

trip_findings = Table(
    "trip_findings",
    metadata,
    Column("trip_no", RowNumber, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False, comment="store/scores/scores.py"),
    Column("policy", Integer, nullable=False, comment="scoring_policy.no"),
    Column("changed_ms", BigInteger, nullable=False, comment="when judging last found something else"),
    Column("body", LargeBinary, nullable=False, comment="services/scores/findings.py"),
    comment="what judging a trip found, scored or not",
)

gps_event = Table(
    "gps_event",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False),
    Column("id", Uuid, nullable=False),
    Column("trip_no", RowNumber, nullable=False),
    Column("trip_id", Uuid, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("vehicle_id", Uuid, nullable=False),
    Column("user_id", Uuid),
    Column("device_type", String(32), nullable=False),
    Column("event_ms", BigInteger, nullable=False),
    Column(
        "event_type", SmallInteger, nullable=False, comment="1 start 2 acceleration 3 deceleration 4 stop 5 overspeed"
    ),
    Column("speed_mh", Float, nullable=False, comment="metres per hour"),
    Column("lat", Float, nullable=False),
    Column("lon", Float, nullable=False),
    Column("info", String(255), nullable=False, comment="JSON text: id, maxSpd, rank of the road"),
    # The id is made of the number, which is unique; PostgreSQL keeps no such rule over partitions of a table.
    UniqueConstraint("id").ddl_if(dialect="sqlite"),
    info=BY_TIME,
)
Index("ix_gps_event_vehicle", gps_event.c.vehicle_id, gps_event.c.created_ms, gps_event.c.event_ms, gps_event.c.no)
Index("ix_gps_event_user", gps_event.c.user_id, gps_event.c.created_ms, gps_event.c.event_ms, gps_event.c.no)
Index("ix_gps_event_vehicle_time", gps_event.c.vehicle_id, gps_event.c.event_ms, gps_event.c.no)
partial_index(
    "ix_gps_event_user_time", gps_event.c.user_id, gps_event.c.event_ms, gps_event.c.no, where="user_id IS NOT NULL"
)
Index("ix_gps_event_trip", gps_event.c.trip_no)


scoring_policy = Table(
    "scoring_policy",
    metadata,
    Column("no", Integer, primary_key=True, autoincrement=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False, comment="JSON of every number that a score depends on"),
    comment="never changed and never deleted: scores name the one that they come from",
)


policy_choice = Table(
    "policy_choice",
    metadata,
    Column("kind", String(16), primary_key=True, comment="company or service_type"),
    Column("subject", String(255), primary_key=True, comment="id of the company, or the service type"),
    Column("from_ms", BigInteger, primary_key=True, comment="for trips that begin then or later, until the next row"),
    Column("policy", Integer, ForeignKey("scoring_policy.no"), comment="null: none of its own any more"),
    Column("chosen_ms", BigInteger, nullable=False),
    Column("chosen_by", Uuid, comment="the account; null: the operator of the machine"),
    comment="who is scored by another policy than that of the settings",
    sqlite_with_rowid=False,
)
Index("ix_policy_choice_from", policy_choice.c.from_ms, policy_choice.c.subject)


vehicle_score = Table(
    "vehicle_score",
    metadata,
    Column("vehicle_id", Uuid, primary_key=True),
    Column("created_ms", BigInteger, nullable=False, comment="time of the last aggregation"),
    Column("user_id", Uuid),
    Column("count", Integer, nullable=False),
    Column("score", Float, nullable=False),
    Column("distance_m", Float, nullable=False),
    Column("sums", LargeBinary, nullable=False, comment="of all its trips, exactly (scoring/policy.py)"),
)
Index("ix_vehicle_score_user", vehicle_score.c.user_id)


vehicle_position = Table(
    "vehicle_position",
    metadata,
    Column("vehicle_id", Uuid, ForeignKey("vehicle.id", ondelete="CASCADE"), primary_key=True),
    Column("company_id", Uuid, nullable=False, comment="the vehicle's owner"),
    Column("change_no", BigInteger, nullable=False, comment="position_change.no of the transaction that wrote it"),
    Column("time_ms", BigInteger, nullable=False, comment="the sample's own time"),
    Column("lat", Float, nullable=False),
    Column("lon", Float, nullable=False),
    Column("speed_kmh", Float),
    Column("heading_deg", Float, comment="from true north"),
    Column("parking", Boolean, nullable=False, comment="the box watched a parked vehicle"),
    Column("driving", Boolean, comment="true: its newest sample is younger than the gap of trips, and not of parking"),
    comment="where each vehicle was when it said so last (spec/positions)",
    sqlite_with_rowid=False,
)
# Nothing in them changes when a vehicle moves, so moving costs no second tree.
Index("ix_vehicle_position_company", vehicle_position.c.company_id, vehicle_position.c.vehicle_id)
partial_index(
    "ix_vehicle_position_driving",
    vehicle_position.c.company_id,
    vehicle_position.c.vehicle_id,
    where="driving IS NOT NULL",
)


position_change = Table(
    "position_change",
    metadata,
    Column("id", SmallInteger, primary_key=True, autoincrement=False, comment="always 1"),
    Column("no", BigInteger, nullable=False),
    comment="number of the newest change of positions; locked until its commit, so numbers appear in their order",
)


position_reach = Table(
    "position_reach",
    metadata,
    Column("holder_id", Uuid, primary_key=True, comment="company or person"),
    Column("change_no", BigInteger, primary_key=True, autoincrement=False),
    Column("vehicle_id", Uuid, primary_key=True),
    Column("seen_ms", BigInteger, comment="when it was first seen by whoever forgets it"),
    comment="whose reach of which vehicle changed lately, for those who follow positions",
)
Index("ix_position_reach_seen", position_reach.c.seen_ms)
