"""Certificates of the listeners: our own authority, files that change, TLS contexts."""
