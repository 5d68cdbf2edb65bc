"""Carrier lines: what carriers say became of them (`actions`, `effects`), and lifting a pause (`unpausing`)."""
