"""Keys of vehicles' numbers and sensors' serial numbers (`domain/keys.py`), unique in a service type.

Of stored numbers with the same key the oldest record gets it; the others stay as they are, without a key, and
`tripline doctor` lists them. A program that does not know the keys would write numbers without them, so none works on
this schema.
"""

import sqlalchemy as sa
from alembic import op

from tripline.domain import keys

revision = "0038"
down_revision = "0037"

_NUMBERS = (
    ("vehicle", "vehicle_no", "number_key", "uq_vehicle_number_key"),
    ("sensor", "serial_no", "serial_key", "uq_sensor_serial_key"),
)
_AT_ONCE = 1_000


def upgrade() -> None:
    """Go to this schema."""
    for table, number, key, index in _NUMBERS:
        comment = f"domain/keys.py; null: an older {table} has this key, before 0038"
        op.add_column(table, sa.Column(key, sa.String(length=255), nullable=True, comment=comment))
        names = ("id", "created_ms", "service_type", number, key)
        rows = sa.table(table, *(sa.column(name) for name in names))
        _fill(rows, rows.c[number], rows.c[key])
        _leave_to_the_oldest(rows, rows.c[key])
        op.create_index(index, table, ["service_type", key], unique=True)
        where = sa.text(f"{key} IS NULL")
        op.create_index(f"ix_{table}_keyless", table, ["id"], unique=False, sqlite_where=where, postgresql_where=where)


def _fill(rows: sa.TableClause, number: sa.ColumnElement[str], key: sa.ColumnElement[str]) -> None:
    """Give every record the key of its number, some at a time."""
    connection, after = op.get_bind(), ""
    some = sa.select(rows.c.id, number).where(rows.c.id > sa.bindparam("after")).order_by(rows.c.id).limit(_AT_ONCE)
    give = sa.update(rows).where(rows.c.id == sa.bindparam("of")).values({key.name: sa.bindparam("its")})
    while found := connection.execute(some, {"after": after}).all():
        connection.execute(give, [{"of": row[0], "its": keys.key(row[1])} for row in found])
        after = found[-1][0]


def _leave_to_the_oldest(rows: sa.TableClause, key: sa.ColumnElement[str]) -> None:
    """Take a key that several records have from all but the oldest, and an empty key from each."""
    connection = op.get_bind()
    connection.execute(sa.update(rows).where(key == "").values({key.name: None}))
    shared = sa.select(rows.c.service_type, key).group_by(rows.c.service_type, key).having(sa.func.count(key) > 1)
    for service_type, value in connection.execute(shared).all():
        alike = sa.select(rows.c.id).where(rows.c.service_type == service_type, key == value)
        _, *others = connection.execute(alike.order_by(rows.c.created_ms, rows.c.id)).scalars()
        for each in others:
            connection.execute(sa.update(rows).where(rows.c.id == each).values({key.name: None}))
