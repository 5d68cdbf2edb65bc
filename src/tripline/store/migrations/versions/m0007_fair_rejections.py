"""Adds to rejected messages their owner, their size, and the number of messages a row stands for.

Old rows are given to the companies that have their sensors now.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
serves = "0006"


def upgrade() -> None:
    """Go to this schema."""
    table = "rejected_message"
    whose = "whose it was when it came; null: nobody's"
    op.add_column(table, sa.Column("company_id", sa.String(length=36), nullable=True, comment=whose))
    for name, default, comment in (
        ("size", "4096", "room that it takes, bytes"),
        ("messages", "1", "how many messages the row stands for"),
    ):
        op.add_column(table, sa.Column(name, sa.Integer(), server_default=default, nullable=False, comment=comment))
    op.execute(
        "UPDATE rejected_message SET size = 256 + length(body) + length(topic) + coalesce(length(detail), 0),"
        " company_id = (SELECT sensor.company_id FROM sensor WHERE sensor.id = rejected_message.sensor_id)"
    )
    op.create_index("ix_rejected_message_company", table, ["company_id", "no", "size"], unique=False)
