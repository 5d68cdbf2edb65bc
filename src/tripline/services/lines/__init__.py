"""Carrier lines: the actions of carriers on them (`actions`), and lifting a pause (`pauses`)."""
