"""The parts of the server, connected to each other."""

import time
import zoneinfo
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

import msgspec
from litestar.types import ASGIApp
from msgspec import structs

from tripline.adapters import machine
from tripline.adapters.loop_watch import LoopWatch
from tripline.api import families, health
from tripline.config import Config
from tripline.config import files as config_files
from tripline.domain.ids import SensorId
from tripline.http.application import create_app
from tripline.http.context import Accounts, Context, Contexts, Fleet, Lines, Maps, Process, Rpc, Scores
from tripline.http.request_store import RequestStore
from tripline.portal import families as pages
from tripline.portal.frame import troubles
from tripline.portal.frame.warm_up import warm_up
from tripline.portal.lists import exports
from tripline.ports.clocks import Clock
from tripline.services.accounts.limits import Limits
from tripline.services.accounts.passwords import Passwords
from tripline.services.accounts.postman import Postman
from tripline.services.accounts.sessions import Prolonger
from tripline.services.accounts.sweeper import Sweeper
from tripline.services.accounts.tokens import Tokens
from tripline.services.barrier import Answering, Barrier
from tripline.services.eraser import Eraser, LetGo
from tripline.services.exports import Exporter
from tripline.services.imports.draft_worker import DraftWorker
from tripline.services.imports.limits import ImportLimits
from tripline.services.ingest import release
from tripline.services.ingest.intake import Intake
from tripline.services.lines.batches import Batches
from tripline.services.lines.pauses import Unpauser
from tripline.services.live.feed import Feed
from tripline.services.live.position_keeper import PositionKeeper
from tripline.services.nodes import Node, Undertaker
from tripline.services.partitions import PartitionKeeper
from tripline.services.presence import PresenceKeeper
from tripline.services.push.keeper import Keeper
from tripline.services.push.pusher import Pusher
from tripline.services.push.resender import Resender
from tripline.services.push.trials import Trials
from tripline.services.readiness import Machine, Readiness
from tripline.services.rpc.calls import Calls, Overdue
from tripline.services.rpc.dispatch import Deliverer, EveryDevice
from tripline.services.rpc.mounting import Mounter
from tripline.services.scores.disputes import DisputeService
from tripline.services.scores.policy_service import PolicyService
from tripline.services.scores.rescorer import Rescorer
from tripline.services.scores.scorer import Scorer
from tripline.services.scores.standing_keeper import StandingKeeper
from tripline.services.session_check import SessionCheck
from tripline.services.settings import InForce
from tripline.store.transactions import Crew
from tripline.wiring import ingest
from tripline.wiring.adapters import Adapters, lost_maps, reach_roads
from tripline.wiring.ingest import Base, Ingress, Worker


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """The parts with their own start and stop, and the workers beside them."""

    http: ASGIApp
    """The application of the HTTP listeners: everything, or health and metrics."""
    contexts: Contexts | None
    """State of REST and the portal; None: this process serves neither."""
    ingress: Ingress | None
    presence: PresenceKeeper | None
    pusher: Pusher | None
    positions: PositionKeeper
    workers: tuple[Worker, ...]

    def stop(self) -> None:
        """Release callers that wait for unfinished work, and end streams."""
        if self.contexts is not None:
            self.contexts.rpc.calls.stop()
            self.contexts.feed.stop()
        if self.pusher is not None:
            self.pusher.stop()


def wired(
    config: Config,
    base: Base,
    others: Adapters,
    *,
    node: Node,
    token_key: bytes,
    api_port: int,
    api_url: str,
    readiness: Readiness,
    settings: Callable[[], Sequence[InForce]],
) -> Server:
    """Build every part that the roles need, without starting them."""
    store, signals, clock = base["store"], base["signals"], base["clock"]
    # Work that acknowledgements wait for is independent of requests and background work.
    of_devices = ingest.of_devices(base)
    does = partial(config_files.does, config)
    presence = ingress = check = None
    if does("gateway") or does("worker"):
        presence = PresenceKeeper(absent_s=config.push.absent_s, node=node, tells_away=does("worker"), **of_devices)
    workers: list[Worker] = [node.run, readiness.run]
    if config.log.held_ms:
        workers.append(LoopWatch(held_s=config.log.held_ms / 1_000).run)
    positions = PositionKeeper(
        store=of_devices["store"],
        signals=signals,
        clock=clock,
        gap_ms=config.ingest.trip_gap_minutes * 60_000,
        fastest_kmh=config.guards.fastest_kmh,
    )
    workers.append(positions.run)
    buffered = ingest.buffered(config, of_devices, others, positions)
    if does("gateway") and presence is not None:
        ingress = ingest.ingress(config, of_devices, others, presence, positions)
        roster = ingress.listener.roster
        check = SessionCheck(store=of_devices["store"], node=node, live=roster, presence=presence, signals=signals)
        workers += [check.run, Deliverer(here=roster, node=node, store=of_devices["store"], signals=signals).run]
    if presence is not None:
        workers.append(partial(presence.run, ingress.listener.roster.heard if ingress else tuple))
    process, contexts = _process(config, clock, api_port, readiness, settings), None
    if does("api"):
        contexts = _contexts(config, base, others, ingress, node, token_key, process)
        accounts = contexts.accounts
        workers += [
            partial(accounts.browsers.run, store),
            partial(accounts.limits.known.run, store, clock),
            others.maps.run,
            contexts.feed.run,
            partial(warm_up, store=store, serving=readiness.serving),
        ]
        lists = exports.books(contexts.context.time_zone, contexts.maps.places)
        workers.append(Exporter(store=store, signals=signals, clock=clock, maker_id=node.id, books=lists).run)
    pusher = None
    if does("worker"):
        pusher = Pusher(
            store=store, sender=others.webhooks, settings=config.push, signals=signals, clock=clock, holder=node.id
        )
        pipeline = buffered.intake if buffered else ingress.intake if ingress else None
        if not isinstance(pipeline, Intake):
            pipeline = None
        if pipeline is None and others.customers is not None:
            pipeline = ingest.pipeline_intake(config, of_devices, positions)
            workers.append(pipeline.run)
        workers += _workers(config, base, others, pipeline, positions, api_url)
        workers.append(DraftWorker(node=node, **base).run)
        if buffered is not None:
            workers += [buffered.intake.run, buffered.drain.run]
        workers.append(Undertaker(store=store.of(Crew.VITALS)).run)
    if presence is not None:
        Answering(node=node, signals=signals, is_behind=lambda: check is not None and check.is_behind)
    if contexts is None:
        http = create_app((health,), {"process": process})
    else:
        http = create_app(
            (*families.FAMILIES, *pages.FAMILIES),
            {**structs.asdict(contexts), **families.STATE, **pages.STATE},
            tell=troubles.tell,
            cors_origins=config.rest.cors_origins,
            promises_https=config_files.promises_https(config),
        )
    return Server(
        http=http,
        contexts=contexts,
        ingress=ingress,
        presence=presence,
        pusher=pusher,
        positions=positions,
        workers=tuple(workers),
    )


def readiness_of(
    config: Config,
    base: Base,
    others: Adapters,
    *,
    folder: Path,
    certificate_end_ms: Callable[[], int | None],
    authority_end_ms: Callable[[], int | None],
) -> Readiness:
    """The check that this process can do its work. `certificate_end_ms`: end of the listeners' certificate;
    `authority_end_ms`: end of our own authority, if that issued it."""
    on_our_disk = not config.store.url
    bus = others.buffer or others.letters
    topic = config.bus.buffer_topic if others.buffer else config.bus.dead_letters or config.bus.microtrips
    return Readiness(
        store=base["store"].of(Crew.VITALS),
        clock=base["clock"],
        measure=lambda: Machine(
            machine.free_bytes(folder), machine.open_files(), machine.open_files_limit(), lost_maps(others.roads)
        ),
        certificate_end_ms=certificate_end_ms,
        authority_end_ms=authority_end_ms,
        reserve_bytes=config.store.reserve_mib * 2**20 if on_our_disk else None,
        place=str(folder),
        reach_bus=None if bus is None else partial(bus.reach, topic),
        # Only the portal shows it.
        reach_roads=reach_roads(config, others.roads) if config_files.does(config, "api") else None,
    )


def _contexts(
    config: Config,
    base: Base,
    others: Adapters,
    ingress: Ingress | None,
    node: Node,
    token_key: bytes,
    process: Process,
) -> Contexts:
    ids, signals, clock = base["ids"], base["signals"], base["clock"]
    store = RequestStore(base["store"], readers=config.store.readers, writers=config.store.writers)
    roster = ingress.listener.roster if ingress is not None else None
    # A call waits for its device; `Calls` limits the concurrent calls of an account.
    of_devices = ingest.of_devices(base)
    settling = Barrier(store=of_devices["store"], node=node, signals=signals)
    calls = Calls(devices=EveryDevice(here=roster, node=node, **of_devices), settings=config.rpc, **of_devices)
    return Contexts(
        context=Context(
            store=store, ids=ids, signals=signals, clock=clock, time_zone=zoneinfo.ZoneInfo(config.time_zone)
        ),
        process=process,
        accounts=Accounts(
            tokens=Tokens(key=token_key, settings=config.tokens),
            passwords=Passwords(config.passwords),
            limits=Limits(accounts=config.accounts, rest=config.rest),
            browsers=Prolonger(config.sessions),
        ),
        fleet=Fleet(node=node, heard_of=_heard_nothing if roster is None else roster.heard_of, settling=settling),
        rpc=Rpc(
            calls=calls,
            mounter=Mounter(calls=calls, settings=config.rpc, store=store, ids=ids, signals=signals, clock=clock),
        ),
        lines=Lines(
            carrier_actions=Batches(settling=settling, store=store, ids=ids, signals=signals, clock=clock),
            unpauser=Unpauser(
                store=store, carrier=others.carrier, ids=ids, clock=clock, timeout_s=config.carrier.timeout_s
            ),
        ),
        scores=Scores(
            policies=PolicyService(store=store, rules=config.rules, ids=ids, clock=clock, roads=others.roads),
            disputes=DisputeService(store=store, ids=ids, clock=clock, roads=others.roads),
            roads=others.roads,
        ),
        maps=Maps(keeper=others.maps, base_map=others.base_map, places=others.places),
        imports=ImportLimits(config.rest),
        trials=Trials(store=store, sender=others.webhooks, ids=ids, clock=clock),
        feed=Feed(store=base["store"], clock=clock, signals=signals),
    )


def _process(
    config: Config, clock: Clock, api_port: int, readiness: Readiness, settings: Callable[[], Sequence[InForce]]
) -> Process:
    return Process(
        ready=readiness.report,
        clock=clock,
        api_port=api_port,
        public_url=config.accounts.public_url,
        behind_proxy=config.behind_proxy,
        settings=settings,
    )


def _workers(
    config: Config, base: Base, others: Adapters, pipeline: Intake | None, positions: PositionKeeper, api_url: str
) -> tuple[Worker, ...]:
    """Scoring, rescoring, erasing, overdue calls, dead-lettered pushes, mails, expiry, partitions, the bus.

    `pipeline`: the one of this process, if any.
    """
    store, signals, clock = base["store"], base["signals"], base["clock"]
    postman = Postman(
        store=store,
        mailer=others.mailer,
        link_hours=config.accounts.link_hours,
        public_url=config.accounts.public_url or api_url,
        zone=zoneinfo.ZoneInfo(config.time_zone),
        signals=signals,
        clock=clock,
    )
    let_go: LetGo = pipeline.let_go_of if pipeline else partial(_let_go_everywhere, config, base)
    zone = zoneinfo.ZoneInfo(config.time_zone)
    scorer = Scorer(rules=config.rules, zone=zone, roads=others.roads, **base)
    return (
        scorer.run,
        StandingKeeper(store=store, clock=clock, stopwatch=time.perf_counter).run,
        Rescorer(store=store, scorer=scorer, signals=signals, clock=clock, roads=others.roads, areas=others.areas).run,
        Eraser(store=store, signals=signals, let_go=let_go, stopwatch=time.perf_counter).run,
        Overdue(settings=config.rpc, **base).run,
        Keeper(store=store, settings=config.push, clock=clock).run,
        Resender(**base).run,
        postman.run,
        Sweeper(store=store, clock=clock, history_days=config.store.history_days).run,
        PartitionKeeper(store=store, settings=config.ingest, clock=clock).run,
        *ingest.bus_consumer(config, ingest.of_devices(base), others, pipeline, positions),
    )


async def _let_go_everywhere(config: Config, base: Base, deleted: Collection[str]) -> None:
    await release.everywhere(base["store"], deleted)


def _heard_nothing(_: SensorId) -> int | None:
    """No device is connected to this process."""
    return None
