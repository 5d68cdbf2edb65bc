"""Rows of accounts: log-ins, applications, links, mails."""
