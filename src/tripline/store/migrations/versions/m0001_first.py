"""The first schema. It is where databases begin: a new one gets every table at once (`store/migrate.py`)."""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Change nothing: no database has an older schema."""
