"""Every table. Ids are canonical UUID text; instants are epoch milliseconds; `no` is a time-ordered row number.

Rows that arrive by the thousand (`microtrip`, `gps_event`, `device_event`, `rejected_message`) are keyed by `no`
(`domain/ids.py`), so inserts append and a page starts by key. `trip.no` is what microtrips point to.

The schema of a database in use is made by `migrations/`; `tests/integration/test_migrations.py` holds both equal.
"""

from tripline.store.tables.accounts import account, password_link, refresh_session, secret, service_application
from tripline.store.tables.base import metadata
from tripline.store.tables.channel import (
    activation,
    device_connection,
    device_trace,
    device_watch,
    rpc_call,
    rpc_later_result,
)
from tripline.store.tables.driving import (
    delivery,
    device_event,
    driving_score,
    gps_event,
    microtrip,
    rejected_message,
    scoring_job,
    sensor_attribute,
    trip,
    vehicle_score,
)
from tripline.store.tables.fleet import (
    carrier_action,
    carrier_line,
    company,
    company_relation,
    erasure,
    sensor,
    simulated_line,
    vehicle,
    vehicle_company,
    vehicle_user,
)
from tripline.store.tables.nodes import bus_position, device_send, node, push_claim
from tripline.store.tables.outbox import mail_outbox, push_outbox, push_receiver, push_secret

__all__ = [
    "account",
    "activation",
    "bus_position",
    "carrier_action",
    "carrier_line",
    "company",
    "company_relation",
    "delivery",
    "device_connection",
    "device_event",
    "device_send",
    "device_trace",
    "device_watch",
    "driving_score",
    "erasure",
    "gps_event",
    "mail_outbox",
    "metadata",
    "microtrip",
    "node",
    "password_link",
    "push_claim",
    "push_outbox",
    "push_receiver",
    "push_secret",
    "refresh_session",
    "rejected_message",
    "rpc_call",
    "rpc_later_result",
    "scoring_job",
    "secret",
    "sensor",
    "sensor_attribute",
    "service_application",
    "simulated_line",
    "trip",
    "vehicle",
    "vehicle_company",
    "vehicle_score",
    "vehicle_user",
]
