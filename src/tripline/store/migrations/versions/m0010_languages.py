"""Languages of mails and of applications for a service account; those that are there are in English."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
serves = "0006"


def upgrade() -> None:
    """Go to this schema."""
    for table, comment in (("mail_outbox", "of the letter"), ("service_application", "of the request that sent it in")):
        op.add_column(
            table, sa.Column("language", sa.String(length=8), server_default="en", nullable=False, comment=comment)
        )
