"""The vehicle's number in each right, so that an index has a person's vehicles in their order.

A program that does not know it would give rights without a number, and leave it as it was when a vehicle's number
changes, so none works on this schema.
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Go to this schema."""
    comment = "of the vehicle, as it is now: lists go by it"
    op.add_column("vehicle_user", sa.Column("vehicle_no", sa.String(length=255), nullable=True, comment=comment))
    right = sa.table("vehicle_user", sa.column("vehicle_id"), sa.column("vehicle_no"))
    vehicle = sa.table("vehicle", sa.column("id"), sa.column("vehicle_no"))
    number = sa.select(vehicle.c.vehicle_no).where(vehicle.c.id == right.c.vehicle_id).scalar_subquery()
    op.execute(sa.update(right).values(vehicle_no=number))
    op.drop_index("ix_vehicle_user_user", "vehicle_user")
    with op.batch_alter_table("vehicle_user") as batch:
        batch.alter_column(
            "vehicle_no",
            existing_type=sa.String(length=255),
            existing_comment=comment,
            nullable=False,
        )
    op.create_index("ix_vehicle_user_list", "vehicle_user", ["user_id", "vehicle_no", "vehicle_id", "user_role"])
