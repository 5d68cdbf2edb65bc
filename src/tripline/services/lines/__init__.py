"""Carrier lines: the actions of carriers on them (`actions`, `effects`), and lifting a pause (`pauses`)."""
