"""Scoring trips anew from the command line, beside running servers or without one.

Not here: what is printed (`cli/rescore.py`), the work itself (`services/scores/rescore.py`).
"""

import zoneinfo

from tripline import clock, observe, wiring_adapters
from tripline.adapters import signals_local
from tripline.chores import policies, stores
from tripline.config import Config
from tripline.services.scores import rescore
from tripline.services.scores.rescore import Outcome, Progress
from tripline.services.scores.scorer import Scorer
from tripline.store.scores.rescore import Choice


async def rescored(config: Config, choice: Choice, *, progress: Progress) -> Outcome:
    """Score the chosen trips anew. Raises `Outage`; what was scored until then stays."""
    observe.configure_logging(level="warning", as_json=False)
    async with stores.store_of(config) as store, stores.numbering(store) as maker:
        scorer = Scorer(
            store=store,
            rules=config.rules,
            ids=maker,
            signals=signals_local.LocalSignals(),
            clock=clock.now_ms,
            zone=zoneinfo.ZoneInfo(config.time_zone),
            roads=wiring_adapters.roads(config),
        )
        return await rescore.rescored(store, scorer, choice, clock=clock.now_ms, progress=progress)


async def tried(config: Config, choice: Choice, *, policy_no: int | None, progress: Progress) -> Outcome:
    """What scoring the chosen trips anew would change.

    `policy_no`: the policy to try in place of those in force. Raises `WrongSettingError` when it is unknown, `Outage`.
    """
    observe.configure_logging(level="warning", as_json=False)
    async with stores.store_of(config) as store:
        policy = None if policy_no is None else await store.read(lambda tx: policies.known(tx, policy_no))
        roads = wiring_adapters.roads(config)
        return await rescore.tried(store, config.rules, choice, policy=policy, progress=progress, roads=roads)
