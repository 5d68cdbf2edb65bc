"""Sessions of browsers beside those of refresh tokens, links that sign in, what an account prefers in the portal."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
serves = "0006"


def upgrade() -> None:
    """Go to this schema."""
    sessions = "refresh_session"
    op.add_column(
        sessions,
        sa.Column("kind", sa.String(length=8), server_default="rest", nullable=False, comment="rest or browser"),
    )
    op.add_column(
        sessions, sa.Column("agent", sa.String(length=255), nullable=True, comment="what the client called itself")
    )
    op.add_column(
        sessions, sa.Column("address", sa.String(length=64), nullable=True, comment="from where it was opened")
    )
    op.create_index("ix_refresh_session_list", sessions, ["user_id", "created_ms", "id"], unique=False)
    op.add_column(
        "password_link",
        sa.Column(
            "purpose", sa.String(length=16), server_default="password", nullable=False, comment="password or sign_in"
        ),
    )
    op.add_column(
        "account",
        sa.Column(
            "sessions_ended_ms",
            sa.BigInteger(),
            server_default="0",
            nullable=False,
            comment="when every session was ended last: tokens that name none and are older are good no more",
        ),
    )
    for name, comment in (
        ("language", "of the portal; null: as the browser asks"),
        ("theme", "of the portal, light or dark; null: as the system is"),
    ):
        op.add_column("account", sa.Column(name, sa.String(length=8), nullable=True, comment=comment))
    if op.get_context().dialect.name == "postgresql":
        op.create_table_comment(sessions, "log-ins over REST and sign-ins with a browser, until they end")
        op.create_table_comment("password_link", "one-time links to set a password, or to sign in")
