"""The only SQL: tables, statements, transactions, migrations."""
