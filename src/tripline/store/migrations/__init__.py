"""The steps that bring a database to the present schema; run by `store/migrate.py`, never by hand."""
