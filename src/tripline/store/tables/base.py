"""What every table shares: the metadata with its names of constraints, and the types of keys."""

from sqlalchemy import BigInteger, Integer, MetaData, String

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Uuid = String(36)
RowNumber = BigInteger().with_variant(Integer(), "sqlite")
"""INTEGER PRIMARY KEY is SQLite's own row number: no second tree."""
