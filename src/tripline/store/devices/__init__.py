"""Rows of devices beside their trips: connections, events, latest values, watches."""
