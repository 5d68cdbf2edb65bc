"""The quality of a trip's samples, and room for longer reasons why it has no score."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
serves = "0006"


def upgrade() -> None:
    """Go to this schema."""
    with op.batch_alter_table("trip") as batch:
        batch.alter_column(
            "not_scored",
            existing_type=sa.String(length=16),
            existing_nullable=True,
            existing_comment="why there is no score (docs/scoring.md)",
            type_=sa.String(length=32),
        )
        batch.add_column(
            sa.Column(
                "quality",
                sa.LargeBinary(),
                nullable=True,
                comment="JSON of how good its samples were (scoring/quality.py); null: not judged",
            )
        )
