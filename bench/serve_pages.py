"""Serves REST over a database on one port, as `tripline serve` does, and nothing else.

python -m bench.serve_pages [FILE ACCOUNT_ID]     prints `PORT TOKEN`, then serves until it is stopped

Without a file: `bench/data/scores.db` (`make_scores.py`).
"""

import socket
import sys
import time
from pathlib import Path
from zoneinfo import ZoneInfo

import uvloop
from bench import make_scores

from tripline import config
from tripline.adapters.carrier_simulated import SimulatedCarrier
from tripline.adapters.http_uvicorn import HttpDoors
from tripline.adapters.signals_local import LocalSignals
from tripline.api.app import create_app
from tripline.api.rim import Rim
from tripline.domain import ids
from tripline.gateway.roster import Roster
from tripline.services.accounts.limits import Limits
from tripline.services.carrier.batches import Batches
from tripline.services.carrier.unpausing import Unpauser
from tripline.services.passwords import Passwords
from tripline.services.rpc.calls import Calls
from tripline.services.rpc.mounting import Mounter
from tripline.services.tokens import Tokens
from tripline.store.sqlite import SqliteStore


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


async def _serve(database: Path, user_id: str) -> None:
    tokens = Tokens(key=b"bench" * 16, settings=config.Tokens())
    store, maker, signals = SqliteStore(database), ids.TimeIds(node=1), LocalSignals()
    carrier = SimulatedCarrier(store=store, clock=_now_ms)
    calls = Calls(store=store, devices=Roster(), settings=config.Rpc(), ids=maker, signals=signals, clock=_now_ms)
    rim = Rim(
        store=store,
        ids=maker,
        clock=_now_ms,
        signals=signals,
        tokens=tokens,
        passwords=Passwords(config.Passwords()),
        limits=Limits(accounts=config.Accounts(), rest=config.Rest()),
        carrier_actions=Batches(store=store, signals=signals, ids=maker, clock=_now_ms),
        unpauser=Unpauser(store=store, carrier=carrier, ids=maker, clock=_now_ms, timeout_s=10),
        calls=calls,
        mounter=Mounter(store=store, calls=calls, ids=maker, signals=signals, clock=_now_ms, settings=config.Rpc()),
        time_zone=ZoneInfo("Asia/Seoul"),
        ready=lambda: True,
        heard_of=lambda sensor_id: None,
    )
    door = socket.create_server(("127.0.0.1", 0))
    token = tokens.access(user_id=user_id, email="bench", authority="COMPANY_ADMIN", now_ms=_now_ms())
    print(door.getsockname()[1], token, flush=True)
    await HttpDoors(create_app(rim), {"api": door}, tls=None, clock=_now_ms).run()


if __name__ == "__main__":
    file, account_id = sys.argv[1:] or (make_scores.FILE, make_scores.ADMIN_ID)
    uvloop.run(_serve(Path(file), account_id))
