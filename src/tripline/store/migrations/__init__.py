"""The steps that bring an older database to the present schema; run by `store/migrate.py`, never by hand."""
