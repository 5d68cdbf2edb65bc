"""The two databases, SQLite and PostgreSQL, and their maintenance."""
