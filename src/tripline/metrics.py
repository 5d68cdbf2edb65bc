"""The catalogue of metrics: one that is not declared here does not exist. No tokens, passwords or positions in any.

Apart from log events, for commands that log count nothing, and the library takes a twentieth of their start to load.
"""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

FRAMES: Final = Counter("tripline_ingest_frames_total", "Device publishes taken in, by kind", ["kind"])
REJECTS: Final = Counter("tripline_ingest_rejected_total", "Messages that could not be used, by reason", ["reason"])
COMMIT_SECONDS: Final = Histogram("tripline_ingest_commit_seconds", "Duration of one group commit, seconds")
DEVICES: Final = Gauge("tripline_device_sessions", "Live device sessions")
DISCONNECTS: Final = Counter("tripline_device_disconnects_total", "Device sessions that ended, by reason", ["reason"])
CONNECTIONS: Final = Gauge(
    "tripline_connections",
    "Open connections, by listener; devices' connections count before admission, too: api, analytics, health, device",
    ["listener"],
)
DISK_FREE: Final = Gauge("tripline_disk_free_bytes", "Free space on the disk of the data folder, bytes")
CERTIFICATE_ENDS: Final = Gauge(
    "tripline_certificate_end_seconds", "When the certificate in use ends, seconds since 1970; 0: this process has none"
)
OPEN_FILES: Final = Gauge("tripline_open_files", "Files and connections that this process has open")
OPEN_FILES_LIMIT: Final = Gauge("tripline_open_files_limit", "How many it may have open; more are refused")
PRESENCE_WAITING: Final = Gauge(
    "tripline_presence_waiting", "Sensors whose connection changed and that are not written down yet"
)
CONNECTS: Final = Counter("tripline_device_connects_total", "CONNECT packets, by return code", ["code"])
HANDSHAKES_FAILED: Final = Counter("tripline_device_handshakes_failed_total", "TLS handshakes that failed")
CARRIER_CALLS: Final = Counter(
    "tripline_carrier_calls_total", "Requests to the carrier to lift a pause, by outcome", ["outcome"]
)
SCORED: Final = Counter("tripline_trips_scored_total", "Trips scored, by outcome", ["outcome"])
ERASED_ROWS: Final = Counter(
    "tripline_erased_rows_total", "Rows of driving data erased after their vehicle was deleted"
)
PUSHES: Final = Counter(
    "tripline_pushes_total", "Attempts to send a message to a customer's server, by outcome", ["outcome"]
)
PUSHES_WAITING: Final = Gauge("tripline_pushes_waiting", "Messages to customers' servers that wait to be sent")
PUSHES_UNCONFIRMED: Final = Gauge(
    "tripline_pushes_unconfirmed", "Messages to customers' servers that count as delivered without an answer"
)
PUSH_MUTE: Final = Gauge("tripline_push_receivers_mute", "Customers' servers that take messages and never answer")
PUSHES_PARKED: Final = Gauge("tripline_pushes_parked", "Messages to customers' servers that were given up")
PUSH_OLDEST_SECONDS: Final = Gauge(
    "tripline_push_oldest_seconds", "How long the oldest waiting message to a customer's server has waited, seconds"
)
MAILS: Final = Counter("tripline_mails_total", "Attempts to send a mail, by outcome", ["outcome"])
BUS_MESSAGES: Final = Counter(
    "tripline_bus_messages_total", "Customers' messages by outcome: stored by kind, duplicate, rejected", ["outcome"]
)
BUS_READ: Final = Counter("tripline_bus_read_total", "Messages read from the bus, by topic", ["topic"])
BUS_LAG: Final = Gauge(
    "tripline_bus_lag", "Messages of the partitions read here that are not stored yet, by topic", ["topic"]
)
BUS_WRITTEN: Final = Counter("tripline_bus_written_total", "Messages written to the bus, by outcome", ["outcome"])
REQUEST_SECONDS: Final = Histogram(
    "tripline_http_request_seconds", "Duration of one request, seconds", ["route", "status"]
)
LOOP_LAG: Final = Histogram(
    "tripline_loop_lag_seconds",
    "How late the event loop turns, every 10 ms, seconds; empty unless `log.held_ms` is set",
    buckets=(0.001, 0.002, 0.003, 0.004, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0),
)
