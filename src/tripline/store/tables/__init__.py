"""Every table. Ids are canonical UUID text; instants are epoch milliseconds; `no` is a time-ordered row number.

Rows that arrive by the thousand (`microtrip`, `gps_event`, `device_event`, `rejected_message`) are keyed by `no`
(`domain/ids.py`), so inserts append and a page starts by key. Microtrips refer to `trip.no`.

`store/migrate.py` makes a new database from these tables; an older one takes the steps in `migrations/`.
"""

from tripline.store.tables.accounts import account, account_link, account_session, secret, service_application
from tripline.store.tables.base import metadata
from tripline.store.tables.devices import (
    activation,
    device_connection,
    device_trace,
    device_watch,
    rpc_call,
    rpc_later_result,
)
from tripline.store.tables.disputes import dispute
from tripline.store.tables.exports import export, export_piece
from tripline.store.tables.fleet import (
    carrier_action,
    carrier_line,
    company,
    company_relation,
    erasure,
    history,
    line_change,
    sensor,
    simulated_line,
    vehicle,
    vehicle_company,
    vehicle_user,
)
from tripline.store.tables.imports import import_draft, import_row
from tripline.store.tables.nodes import bus_position, device_send, node, push_claim
from tripline.store.tables.outbox import mail_outbox, push_outbox, push_receiver, push_resend, push_secret
from tripline.store.tables.reach import reach
from tripline.store.tables.rescorings import rescoring
from tripline.store.tables.share_links import share_link
from tripline.store.tables.trends import score_change, score_rank, score_recount, score_standing, score_sum
from tripline.store.tables.trips import (
    delivery,
    device_event,
    driving_score,
    gps_event,
    microtrip,
    policy_choice,
    position_change,
    position_reach,
    rejected_message,
    scoring_job,
    scoring_policy,
    sensor_attribute,
    trip,
    trip_cover,
    trip_findings,
    vehicle_position,
    vehicle_score,
)
