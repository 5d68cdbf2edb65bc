"""Accounts: new ones (`registry`), log-in and refresh (`login`)."""
