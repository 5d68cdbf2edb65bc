"""`tripline policy`: scoring policies, and the companies and service types that use them."""

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import App, Parameter

from tripline.cli import base
from tripline.config import files as config_files
from tripline.domain import ids
from tripline.later import Later

if TYPE_CHECKING:
    import uvloop

    from tripline.config import Config
    from tripline.maintenance import policies as maintenance
    from tripline.store.scores import policies as store
else:
    uvloop = Later("uvloop")
    maintenance = Later("tripline.maintenance.policies")
    store = Later("tripline.store.scores.policies")

policy = App(
    name="policy",
    help="Scoring policies: look at them, add one, choose one for a company or a service type.",
    help_epilogue="Example: tripline policy list",
)


@policy.command(name="list", help_epilogue="Example: tripline policy list --data /srv/tripline")
def list_policies(*, place: base.Place | None = None) -> int:
    """Show the number of each policy, and the companies and service types that do not use the policy of the
    settings."""
    config = base.settings(place, {})
    kept, choices = uvloop.run(maintenance.listed(config))
    for each in kept:
        whose = [_company_line(config, choices, at) for at, choice in enumerate(choices) if choice.no == each.no]
        base.line(base.printable(f"policy {each.no}: {', '.join(whose) or 'chosen for nobody'}"))
    base.line(f"{len(kept)} policies")
    return base.OK


@policy.command(help_epilogue="Example: tripline policy show 2 --data /srv/tripline")
def show(no: Annotated[int, Parameter(help="number of the policy")], *, place: base.Place | None = None) -> int:
    """Show every number of a policy, as lines of settings."""
    found = uvloop.run(maintenance.shown(base.settings(place, {}), no))
    for section, numbers in msgspec.to_builtins(found.rules).items():
        for name, value in numbers.items():
            if (section, name) != ("scoring", "grace_s"):
                base.line(f"{section}.{name} = {msgspec.json.encode(value).decode()}")
    return base.OK


@policy.command(help_epilogue="Example: tripline policy add mild.toml --data /srv/tripline")
def add(
    file: Annotated[
        Path, Parameter(help="TOML file: [scoring], [harsh], [guards], [style]; what it leaves out is the default")
    ],
    *,
    place: base.Place | None = None,
) -> int:
    """Store the scoring settings of a file as a policy and print its number. Equal settings keep their number."""
    kept = uvloop.run(maintenance.added(base.settings(place, {}), file))
    base.line(f"policy {kept.no}")
    return base.OK


@policy.command(help_epilogue="Example: tripline policy choose 2 --service-type taxi --data /srv/tripline")
def choose(
    no: Annotated[int | None, Parameter(help="number of the policy")] = None,
    *,
    company: Annotated[str | None, Parameter(help="for this company (id)")] = None,
    service_type: Annotated[str | None, Parameter(help="for companies of this service type without a choice")] = None,
    settings: Annotated[
        bool, Parameter(negative=(), help="end the choice: score by the policy of the settings again")
    ] = False,
    from_: Annotated[
        datetime.datetime | None,
        Parameter(name="--from", help="for trips that begin then or later (time zone of the service); default: now"),
    ] = None,
    place: base.Place | None = None,
) -> int:
    """Have trips of a company or a service type scored by a policy from a date on.

    Stored scores stay until `tripline rescore`; with --dry-run and --policy it shows the changes first. Choices for
    later dates end.
    """
    if (no is None) != settings:
        raise config_files.WrongSettingError("Give either the number of a policy or --settings.")
    kind, subject = _whose(company, service_type)
    config = base.settings(place, {})
    uvloop.run(maintenance.chosen(config, kind, subject, no, from_ms=base.instant_ms(config, from_)))
    base.line(base.printable(f"{kind} {subject}: {'policy of the settings' if no is None else f'policy {no}'}"))
    return base.OK


def _company_line(config: "Config", choices: "list[store.Chosen]", at: int) -> str:
    """Describe the subject of a choice, and the period in which its trips begin."""
    choice = choices[at]
    text = f"{choice.kind} {choice.subject}"
    if choice.from_ms:
        text += f" from {base.day_text(config, choice.from_ms)}"
    after = choices[at + 1] if at + 1 < len(choices) else None
    if after is not None and (after.kind, after.subject) == (choice.kind, choice.subject):
        text += f" until {base.day_text(config, after.from_ms)}"
    return text


def _whose(company: str | None, service_type: str | None) -> "tuple[store.Kind, str]":
    """The company or service type of a choice. Raises `WrongSettingError`."""
    if company is None and service_type is not None:
        return store.Kind.SERVICE_TYPE, service_type
    if company is None or service_type is not None:
        raise config_files.WrongSettingError("Give either --company or --service-type.")
    if (known := ids.canonical(company)) is None:
        raise config_files.WrongSettingError(f"--company must be the id of a company, not {base.printable(company)}.")
    return store.Kind.COMPANY, known
