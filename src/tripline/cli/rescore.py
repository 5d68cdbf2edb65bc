"""`tripline rescore`: score stored trips anew."""

import datetime
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter, validators

from tripline.cli import base, progress
from tripline.config import Config
from tripline.config import files as config_files
from tripline.domain import ids
from tripline.later import Later

if TYPE_CHECKING:
    import uvloop

    from tripline.domain import rescorings
    from tripline.domain.rescorings import Outcome
    from tripline.maintenance import rescore as maintenance
    from tripline.store.scores import rescore as store
else:
    uvloop = Later("uvloop")
    maintenance = Later("tripline.maintenance.rescore")
    store = Later("tripline.store.scores.rescore")

_TOLD_EVERY: Final = 1_000


def rescore(
    *,
    from_: Annotated[
        datetime.datetime | None,
        Parameter(name="--from", help="trips that began then or later (time zone of the service)"),
    ] = None,
    to: Annotated[datetime.datetime | None, Parameter(help="trips that began before then")] = None,
    company: Annotated[str | None, Parameter(help="id of a company: trips of its sensors")] = None,
    everything: Annotated[
        bool,
        Parameter(name="--all", negative=(), help="also trips whose score is by the policy in force (default: others)"),
    ] = False,
    dry_run: Annotated[bool, Parameter(negative=(), help="say what would change, write nothing")] = False,
    policy: Annotated[
        int | None,
        Parameter(validator=validators.Number(gte=1), help="with --dry-run: try this policy in place of that in force"),
    ] = None,
    map_: Annotated[
        str | None,
        Parameter(
            name="--map",
            help="only scored trips that the map of this area touches: judged by another map of it, by none that could"
            " be read, or without it and driven within its bounds; with --all also those that it has judged",
        ),
    ] = None,
    place: base.Place | None = None,
) -> int:
    """Score stored trips anew, beside running servers or without one. Exits 1 when any cannot be judged.

    Without --all or --map it takes trips scored by another policy than the one in force, and trips without a score. To
    resume an interrupted run, start it again. A score that stays the same keeps its times and events.
    """
    if policy is not None and not dry_run:
        raise config_files.WrongSettingError(
            "--policy goes with --dry-run only: trips are scored by the policy in force."
        )
    config = base.settings(place, {})
    choice = store.Choice(
        from_ms=base.instant_ms(config, from_),
        to_ms=base.instant_ms(config, to),
        company_id=_company_id(company),
        everything=everything,
        touched=None if map_ is None else _touched(config, map_),
    )
    with progress.counting("trips", every=_TOLD_EVERY) as tell:
        if dry_run:
            outcome = uvloop.run(maintenance.tried(config, choice, policy_no=policy, progress=tell))
        else:
            outcome = uvloop.run(maintenance.rescored(config, choice, progress=tell))
    for text in _lines(outcome, dry_run=dry_run):
        base.line(text)
    return base.FAILED if outcome.failed else base.OK


def _touched(config: Config, area: str) -> "rescorings.Touched":
    found = maintenance.touched(config, area)
    if found.map is None:
        base.complain(f"There is no map called {base.printable(area)} now; taking trips that one judged before.")
    return found


def _company_id(text: str | None) -> ids.CompanyId | None:
    if text is None:
        return None
    if (known := ids.canonical(text)) is None:
        raise config_files.WrongSettingError(f"--company must be the id of a company, not {text}.")
    return ids.CompanyId(known)


def _lines(outcome: "Outcome", *, dry_run: bool) -> list[str]:
    texts = [
        f"trips judged {outcome.judged}: scores moved {outcome.moved}, new {outcome.gained}, gone {outcome.lost},"
        f" as before {outcome.same}, failed {outcome.failed}{' (dry run)' if dry_run else ''}"
    ]
    if outcome.moved:
        mean = outcome.sum / outcome.moved
        texts.append(f"moved by {mean:.2f} points on average, by {outcome.most:.2f} at most")
    texts += [f"gone for {reason}: {count}" for reason, count in sorted(outcome.reasons.items())]
    return texts
