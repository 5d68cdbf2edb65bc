"""Vehicles and sensors that a company or person may see, with the columns by which lists order and search them."""

from sqlalchemy import BigInteger, Column, Index, SmallInteger, String, Table

from tripline.store.tables.base import Uuid, metadata

reach = Table(
    "reach",
    metadata,
    Column("thing_id", Uuid, primary_key=True, comment="vehicle or sensor"),
    Column("principal", Uuid, primary_key=True, comment="company or person who may see it"),
    Column("kind", SmallInteger, nullable=False, comment="1 vehicle, 2 sensor"),
    Column("sort_key", String(255), nullable=False, comment="number of the vehicle, serial number of the sensor"),
    Column("created_ms", BigInteger, nullable=False, comment="of the vehicle or sensor"),
    Column("why", SmallInteger, nullable=False, comment="bits of store/reach.py"),
    comment="what each company and person may see; made from the fleet's tables in the transaction that changes them",
    sqlite_with_rowid=False,
)
# With `why`, so that a walk skips rows of other reasons in the index.
_NAME, _CREATED = reach.c.sort_key, reach.c.created_ms
Index("ix_reach_name", reach.c.principal, reach.c.kind, _NAME, reach.c.thing_id, reach.c.why)
Index("ix_reach_created", reach.c.principal, reach.c.kind, _CREATED, reach.c.thing_id, reach.c.why)
