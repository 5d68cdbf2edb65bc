"""Mails: by SMTP, or as files in a folder."""
