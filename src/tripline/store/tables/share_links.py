"""The table of share links."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, String, Table

from tripline.store.tables.base import Uuid, metadata

share_link = Table(
    "share_link",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("secret_hash", String(64), nullable=False, comment="SHA-256 of the secret behind the # of the address"),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
    Column("company_id", Uuid, ForeignKey("company.id"), nullable=False, comment="the maker's"),
    Column("maker_id", Uuid, ForeignKey("account.id"), nullable=False),
    Column("vehicle_id", Uuid, ForeignKey("vehicle.id"), nullable=False),
    Column("trip_id", Uuid, comment="the trip that it shows, of this vehicle; null: it shows the vehicle"),
    Column("trail", Boolean, nullable=False, comment="shows the way of the vehicle since the link was made"),
    Column("whole", Boolean, nullable=False, comment="shows the ends of the trip"),
    Column("number", Boolean, nullable=False, comment="shows the number plate"),
    Column("openings", Integer, nullable=False),
    Column("opened_ms", BigInteger, comment="the last opening"),
    comment="links that show a vehicle or a trip without an account, until they end",
)
Index("ix_share_link_company", share_link.c.company_id, share_link.c.created_ms)
Index("ix_share_link_maker", share_link.c.maker_id)
Index("ix_share_link_vehicle", share_link.c.vehicle_id)
Index("ix_share_link_expires", share_link.c.expires_ms)
