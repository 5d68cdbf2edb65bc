"""The parts of the server, wired to each other: which there are, and who is given whom.

Not here: the adapters that some of them are given (`outside.py`), in which order they start and stop (`app.py`).
"""

import time
import zoneinfo
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypedDict

from tripline.api.rim import Rim
from tripline.config import Config
from tripline.domain.ids import SensorId, TimeIds
from tripline.gateway.listener import Admit, DeviceListener
from tripline.gateway.roster import CREDENTIAL_ENDED
from tripline.observe import SIGNAL_CREDENTIAL_ENDED
from tripline.outside import Others
from tripline.ports import Clock, Signals
from tripline.services.accounts.limits import Limits
from tripline.services.accounts.postman import Postman
from tripline.services.accounts.sweeper import Sweeper
from tripline.services.carrier.batches import Batches
from tripline.services.carrier.unpausing import Unpauser
from tripline.services.erasing import Eraser
from tripline.services.fleet.import_desk import ImportDesk
from tripline.services.ingest.intake import IngestDoor
from tripline.services.parts_ahead import PartKeeper
from tripline.services.passwords import Passwords
from tripline.services.presence import PresenceKeeper
from tripline.services.push.keeper import Keeper
from tripline.services.push.pusher import Pusher
from tripline.services.rpc.calls import Calls
from tripline.services.rpc.mounting import Mounter
from tripline.services.rpc.timeouts import Overdue
from tripline.services.scores.scorer import Scorer
from tripline.services.tokens import Tokens
from tripline.store import sensors
from tripline.store.transactions import Store

Worker: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Works on rows until it is cancelled."""


class Ground(TypedDict):
    """What nearly every part is given."""

    store: Store
    ids: TimeIds
    signals: Signals
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts that are started and stopped one by one, and those that just work beside them."""

    intake: IngestDoor
    presence: PresenceKeeper
    listener: DeviceListener
    calls: Calls
    pusher: Pusher
    rim: Rim
    workers: tuple[Worker, ...]


def wired(
    config: Config,
    ground: Ground,
    others: Others,
    *,
    token_key: bytes,
    api_port: int,
    api_url: str,
    ready: Callable[[], bool],
) -> Parts:
    """Every part; nothing of it runs yet."""
    store, ids, signals, clock = ground["store"], ground["ids"], ground["signals"], ground["clock"]
    intake = IngestDoor(
        settings=config.ingest,
        scoring_grace_s=config.scoring.grace_s,
        max_items=config.devices.max_items,
        **ground,
    )
    presence = PresenceKeeper(absent_s=config.push.absent_s, **ground)
    listener = DeviceListener(
        config=config.devices, intake=intake, presence=presence, admit=_admission(store), ids=ids, clock=clock
    )
    roster = listener.roster
    signals.subscribe(SIGNAL_CREDENTIAL_ENDED, lambda sensor: roster.drop(SensorId(sensor), CREDENTIAL_ENDED))
    calls = Calls(devices=roster, settings=config.rpc, **ground)
    rim = Rim(
        **ground,
        tokens=Tokens(key=token_key, settings=config.tokens),
        passwords=Passwords(config.passwords),
        limits=Limits(accounts=config.accounts, rest=config.rest),
        carrier_actions=Batches(**ground),
        unpauser=Unpauser(
            store=store, carrier=others.carrier, ids=ids, clock=clock, timeout_s=config.carrier.timeout_s
        ),
        calls=calls,
        mounter=Mounter(calls=calls, settings=config.rpc, **ground),
        time_zone=zoneinfo.ZoneInfo(config.time_zone),
        ready=ready,
        heard_of=roster.heard_of,
        imports=ImportDesk(config.rest),
        api_port=api_port,
        behind_proxy=config.behind_proxy,
    )
    return Parts(
        intake=intake,
        presence=presence,
        listener=listener,
        calls=calls,
        pusher=Pusher(store=store, sender=others.webhooks, settings=config.push, signals=signals, clock=clock),
        rim=rim,
        workers=(partial(presence.run, roster.heard), *_workers(config, ground, others, intake, api_url)),
    )


def _workers(config: Config, ground: Ground, others: Others, intake: IngestDoor, api_url: str) -> tuple[Worker, ...]:
    """Scoring, erasing, overdue calls, given-up messages, mails, what has expired, parts of tables."""
    store, signals, clock = ground["store"], ground["signals"], ground["clock"]
    postman = Postman(
        store=store,
        mailer=others.mailer,
        link_hours=config.accounts.link_hours,
        public_url=config.accounts.public_url or api_url,
        signals=signals,
        clock=clock,
    )
    return (
        Scorer(scoring=config.scoring, harsh=config.harsh, **ground).run,
        Eraser(store=store, signals=signals, let_go=intake.let_go_of, stopwatch=time.perf_counter).run,
        Overdue(settings=config.rpc, **ground).run,
        Keeper(store=store, settings=config.push, clock=clock).run,
        postman.run,
        Sweeper(store=store, clock=clock).run,
        PartKeeper(store=store, settings=config.ingest, clock=clock).run,
    )


def _admission(store: Store) -> Admit:
    """Who may connect as a device: whoever knows a sensor's credential."""

    async def admit(user_name: str) -> SensorId | None:
        return await store.read_short(lambda tx: sensors.holder_of(tx, user_name))

    return admit
