"""Mails that tell whoever opened a dispute of the decision.

Older programs go on beside it: workers are replaced first, so none of those that are left sends mails. A dispute that
an older program decides is told of by no mail.
"""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
serves = "0023"


def upgrade() -> None:
    """Go to this schema."""
    op.add_column(
        "dispute",
        sa.Column(
            "mail_language",
            sa.String(length=8),
            nullable=True,
            comment="of the mail that tells of the decision; null: none is wanted",
        ),
    )
    op.add_column("mail_outbox", sa.Column("dispute_id", sa.String(length=36), nullable=True))
