"""The two databases, SQLite and PostgreSQL, and what keeps them well."""
