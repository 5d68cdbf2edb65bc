"""Serves REST over a database on one port, as `tripline serve` does, and nothing else.

python -m bench.serve_pages [FILE ACCOUNT_ID]     prints `PORT TOKEN`, then serves until it is stopped

Without a file: `bench/data/scores.db` (`make_scores.py`).
"""

import socket
import sys
import time
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import uvloop
from bench import make_scores
from msgspec import structs

from tripline import config
from tripline.adapters.carrier.simulated import SimulatedCarrier
from tripline.adapters.http.listeners import HttpListeners
from tripline.adapters.maps.service import MapService
from tripline.adapters.signals.local import LocalSignals
from tripline.adapters.webhooks.addresses import AddressGuard
from tripline.adapters.webhooks.sender import HttpWebhooks
from tripline.api import families
from tripline.domain import ids
from tripline.gateway.roster import Roster
from tripline.http.application import create_app
from tripline.http.context import Accounts, Context, Contexts, Fleet, Lines, Maps, Process, Rpc, Scores
from tripline.http.request_store import RequestStore
from tripline.scoring import rules
from tripline.services.accounts import login
from tripline.services.accounts.limits import Limits
from tripline.services.accounts.passwords import Passwords
from tripline.services.accounts.sessions import Client
from tripline.services.accounts.tokens import Tokens
from tripline.services.barrier import Barrier
from tripline.services.imports.limits import ImportLimits
from tripline.services.lines.batches import Batches
from tripline.services.lines.pauses import Unpauser
from tripline.services.live.feed import Feed
from tripline.services.nodes import Node
from tripline.services.push.trials import Trials
from tripline.services.rpc.calls import Calls
from tripline.services.rpc.mounting import Mounter
from tripline.services.scores.disputes import DisputeService
from tripline.services.scores.policy_service import PolicyService
from tripline.store.database.sqlite import SqliteStore


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


async def _serve(database: Path, user_id: str) -> None:
    tokens = Tokens(key=b"bench" * 16, settings=config.Tokens())
    store, maker, signals = SqliteStore(database), ids.TimeIds(node=1), LocalSignals()
    node = Node(store=store, ids=maker, name="bench", roles="api")
    settling = Barrier(store=store, node=node, signals=signals)
    carrier = SimulatedCarrier(store=store, clock=_now_ms)
    calls = Calls(store=store, devices=Roster(), settings=config.Rpc(), ids=maker, signals=signals, clock=_now_ms)
    webhooks = HttpWebhooks(timeout_s=5.0, guard=AddressGuard(allow_private=True))
    contexts = Contexts(
        context=Context(
            store=RequestStore(store), ids=maker, clock=_now_ms, signals=signals, time_zone=ZoneInfo("Asia/Seoul")
        ),
        process=Process(ready=lambda: True, clock=_now_ms),
        accounts=Accounts(
            tokens=tokens,
            passwords=Passwords(config.Passwords()),
            limits=Limits(accounts=config.Accounts(), rest=config.Rest()),
        ),
        fleet=Fleet(node=node, heard_of=lambda sensor_id: None, settling=settling),
        rpc=Rpc(
            calls=calls,
            mounter=Mounter(store=store, calls=calls, ids=maker, signals=signals, clock=_now_ms, settings=config.Rpc()),
        ),
        lines=Lines(
            carrier_actions=Batches(store=store, settling=settling, signals=signals, ids=maker, clock=_now_ms),
            unpauser=Unpauser(store=store, carrier=carrier, ids=maker, clock=_now_ms, timeout_s=10),
        ),
        scores=Scores(
            policies=PolicyService(store=store, rules=rules.Rules(), ids=maker, clock=_now_ms),
            disputes=DisputeService(store=store, ids=maker, clock=_now_ms),
        ),
        maps=Maps(keeper=MapService(database.with_name("maps"), most_bytes=2**20, clock=_now_ms)),
        imports=ImportLimits(config.Rest()),
        feed=Feed(store=store, clock=_now_ms, signals=signals),
        trials=Trials(store=store, sender=webhooks, ids=maker, clock=_now_ms),
    )
    listener = socket.create_server(("127.0.0.1", 0))
    client = Client(agent="bench", address=None)
    opened = partial(login.opened, user_id=user_id, tokens=tokens, client=client, now_ms=_now_ms())
    session_id = (await store.write(opened)).session_id
    token = tokens.access(
        user_id=user_id, email="bench", authority="COMPANY_ADMIN", session_id=session_id, now_ms=_now_ms()
    )
    print(listener.getsockname()[1], token, flush=True)
    await HttpListeners(
        create_app(families.FAMILIES, {**structs.asdict(contexts), **families.STATE}),
        {"api": listener},
        tls=None,
        clock=_now_ms,
    ).serve()


if __name__ == "__main__":
    file, account_id = sys.argv[1:] or (make_scores.FILE, make_scores.ADMIN_ID)
    uvloop.run(_serve(Path(file), account_id))
