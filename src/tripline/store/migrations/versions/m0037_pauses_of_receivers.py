"""The pause that a customer's server asked for; nothing else changes."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0034"
serves = "0026"


def upgrade() -> None:
    """Go to this schema."""
    held = sa.Column(
        "held_ms", sa.BigInteger(), nullable=True, comment="until when it asked for no request (Retry-After)"
    )
    op.add_column("push_receiver", held)
