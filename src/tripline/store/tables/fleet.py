"""Tables of the fleet: companies, vehicles, sensors, rights on vehicles, and carriers' lines."""

from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Index, Integer, LargeBinary, String, Table, Text

from tripline.store.tables.base import RowNumber, Uuid, last, metadata, partial_index

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
    Column("notify_msg_type", Text, comment="JSON of what was sent, so that answers echo it (spec/push N2)"),
    Column("rpc_notify_host", String(255)),
    Column("rpc_notify_port", Integer),
    Column("rpc_notify_base_path", String(255)),
    Column("token_prefix", String(5), nullable=False, unique=True),
)
Index("ix_company_master_id", company.c.master_id)
Index("ix_company_registered_by", company.c.registered_by_id)
Index("ix_company_list", company.c.service_type, company.c.name, company.c.id)
Index("ix_company_name", company.c.name, company.c.id)
partial_index("uq_company_operator_service_type", company.c.service_type, unique=True, where="master")


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
    Column("number_key", String(255), nullable=False, comment="key of vehicle_no, domain/keys.py"),
)
Index("uq_vehicle_number_key", vehicle.c.service_type, vehicle.c.number_key, unique=True)
Index("ix_vehicle_company", vehicle.c.company_id)
Index("ix_vehicle_ending", vehicle.c.service_type, last(vehicle.c.vehicle_no))
Index("ix_vehicle_status", vehicle.c.service_type, vehicle.c.status)
partial_index("ix_vehicle_director_id", vehicle.c.director_id, where="director_id IS NOT NULL")
partial_index("ix_vehicle_driven", vehicle.c.current_driver_id, where="current_driver_id IS NOT NULL")


sensor = Table(
    "sensor",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("company_id", Uuid, ForeignKey("company.id"), nullable=False),
    Column("service_type", String(255), nullable=False),
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
    Column("ingest_node", Uuid, comment="node that keeps track of its data"),
    Column("has_hashes", Boolean, comment="true: marks of its deliveries may have a hash where others have none"),
    Column("erased_ms", BigInteger, comment="rows of it stored before then may have been erased with a vehicle"),
    Column("serial_key", String(255), nullable=False, comment="key of serial_no, domain/keys.py"),
)
Index("uq_sensor_serial_key", sensor.c.service_type, sensor.c.serial_key, unique=True)
Index("ix_sensor_company", sensor.c.company_id)
Index("ix_sensor_ending", sensor.c.service_type, last(sensor.c.serial_no))
Index("ix_sensor_type", sensor.c.service_type, sensor.c.type)
partial_index("ix_sensor_vehicle_id", sensor.c.vehicle_id, where="vehicle_id IS NOT NULL")
partial_index("ix_sensor_unmounted", sensor.c.service_type, where="vehicle_id IS NULL")


company_relation = Table(
    "company_relation",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("from_company_id", Uuid, ForeignKey("company.id"), nullable=False),
    Column("to_company_id", Uuid, ForeignKey("company.id"), nullable=False),
    comment="companies that one may delegate vehicles to",
)
Index("uq_company_relation_pair", company_relation.c.from_company_id, company_relation.c.to_company_id, unique=True)
Index("ix_company_relation_to", company_relation.c.to_company_id)


vehicle_company = Table(
    "vehicle_company",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("vehicle_id", Uuid, ForeignKey("vehicle.id"), nullable=False),
    Column("from_company_id", Uuid, ForeignKey("company.id"), nullable=False),
    Column("to_company_id", Uuid, ForeignKey("company.id"), nullable=False),
    Column("automatic", Boolean, nullable=False, comment="partner to operator, at creation; cannot be undone"),
    comment="vehicles delegated to companies",
)
Index("uq_vehicle_company_pair", vehicle_company.c.vehicle_id, vehicle_company.c.to_company_id, unique=True)
Index("ix_vehicle_company_from", vehicle_company.c.from_company_id, vehicle_company.c.to_company_id)
for _name, _end in (("given", vehicle_company.c.from_company_id), ("received", vehicle_company.c.to_company_id)):
    Index(f"ix_vehicle_company_{_name}", _end, vehicle_company.c.created_ms, vehicle_company.c.id)


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
Index("uq_vehicle_user_right", vehicle_user.c.vehicle_id, vehicle_user.c.user_id, vehicle_user.c.user_role, unique=True)
Index("ix_vehicle_user_user", vehicle_user.c.user_id)
Index("ix_vehicle_user_company", vehicle_user.c.company_id, vehicle_user.c.vehicle_id)


carrier_line = Table(
    "carrier_line",
    metadata,
    Column("sensor_id", Uuid, ForeignKey("sensor.id"), primary_key=True),
    Column("mdn", String(32), unique=True, comment="telephone number; null: the line was ended"),
    Column("nw_status", String(2), nullable=False, comment="domain/lines.py"),
    Column("subscription", String(255), comment="plan code"),
    Column("imsi", String(32)),
    Column("iccid", String(32)),
    Column("updated_ms", BigInteger, nullable=False),
    Column("claimed_by", Uuid, comment="the call to the carrier that is under way for this line"),
    Column("claimed_until_ms", BigInteger, comment="when that call is given up as lost"),
    comment="lines of devices on a carrier's network",
)
Index("ix_carrier_line_iccid", carrier_line.c.iccid)
Index("ix_carrier_line_imsi", carrier_line.c.imsi)
Index("ix_carrier_line_mdn_ending", last(carrier_line.c.mdn))
Index("ix_carrier_line_iccid_ending", last(carrier_line.c.iccid))
Index("ix_carrier_line_imsi_ending", last(carrier_line.c.imsi))
Index("ix_carrier_line_state", carrier_line.c.nw_status, carrier_line.c.sensor_id)


carrier_action = Table(
    "carrier_action",
    metadata,
    Column("account_id", Uuid, primary_key=True, comment="the carrier's account"),
    Column("action_id", String(255), primary_key=True, comment="the carrier's own number of the action"),
    Column("created_ms", BigInteger, nullable=False),
    Column("content", String(64), nullable=False, comment="SHA-256 of what was asked"),
    Column("outcome", LargeBinary, nullable=False, comment="JSON of what was answered"),
    comment="actions that a carrier sent, so that one sent twice is done once",
)


line_change = Table(
    "line_change",
    metadata,
    Column("sensor_id", Uuid, primary_key=True),
    Column("no", BigInteger, primary_key=True, autoincrement=False, comment="carries when it was written down"),
    Column("type", String(32), nullable=False, comment="the carrier's action, or UNPAUSE"),
    Column("nw_status", String(2), nullable=False, comment="of the line afterwards"),
    Column("occurred_ms", BigInteger, nullable=False, comment="when it happened, as the carrier says"),
    Column("refused", String(255), comment="why the carrier did not lift the pause, in its words; empty: without any"),
    comment="what became of the line of a device; no numbers, for those are gone with the line",
    sqlite_with_rowid=False,
)


simulated_line = Table(
    "simulated_line",
    metadata,
    Column("mdn", String(32), primary_key=True),
    Column("lifted_by", Uuid, nullable=False, comment="the request that lifted its pause last"),
    Column("updated_ms", BigInteger, nullable=False),
    comment="what the simulated carrier knows of its lines",
)


erasure = Table(
    "erasure",
    metadata,
    Column("id", Uuid, primary_key=True, comment="what was deleted"),
    Column("kind", String(16), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    comment="deleted things whose driving data is still to be deleted, a little at a time",
)


history = Table(
    "history",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("event", String(32), nullable=False, comment="domain/history.py"),
    Column("company_id", Uuid, comment="whose vehicle, sensor or person it is, or the company itself"),
    Column("master_id", Uuid, comment="the operator of that company then"),
    Column("actor_id", Uuid, comment="account that asked for it; null: erased, or none"),
    Column("actor_authority", String(16)),
    Column("actor_company_id", Uuid),
    Column("vehicle_id", Uuid),
    Column("sensor_id", Uuid),
    Column("user_id", Uuid, comment="person; erased from entries of vehicles when deleted"),
    Column("to_company_id", Uuid, comment="the other company, of a delegation or candidate"),
    Column("changes", Text, comment="JSON: fields before and after, without secrets; null: erased"),
    comment="who changed what, and when; outlives what it tells of",
)
for _column in (history.c.vehicle_id, history.c.sensor_id, history.c.user_id, history.c.actor_id):
    partial_index(f"ix_history_{_column.name}", _column, history.c.no, where=f"{_column.name} IS NOT NULL")
partial_index(
    "ix_history_company",
    history.c.company_id,
    history.c.no,
    where="vehicle_id IS NULL AND sensor_id IS NULL AND user_id IS NULL",
)
