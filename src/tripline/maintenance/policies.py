"""Scoring policies, for the operator of the machine: listing, adding and choosing them.

All commands work with or without a running server.
"""

from pathlib import Path

from sqlalchemy import select

from tripline import clock
from tripline.config import Config
from tripline.config import files as config_files
from tripline.maintenance import stores
from tripline.store.scores import policies
from tripline.store.scores.policies import Chosen, Kind, Policy
from tripline.store.tables import company
from tripline.store.transactions import ReadTx, WriteTx


async def listed(config: Config) -> tuple[list[Policy], list[Chosen]]:
    """All policies, the oldest first, and the choices of companies and service types."""
    async with stores.store_of(config) as store:
        return await store.read(policies.every), await store.read(policies.choices)


async def shown(config: Config, no: int) -> Policy:
    """One policy. Raises `WrongSettingError` for an unknown number."""
    async with stores.store_of(config) as store:
        return await store.read(lambda tx: known(tx, no))


async def added(config: Config, file: Path) -> Policy:
    """The existing or new policy with the scoring settings of a TOML file.

    Raises `WrongSettingError`.
    """
    rules = config_files.load(file=file, variables={}, flags={}).rules
    async with stores.store_of(config) as store:
        return await store.write(lambda tx: policies.keep(tx, rules, now_ms=clock.now_ms()))


async def chosen(config: Config, kind: Kind, subject: str, no: int | None, *, from_ms: int | None) -> None:
    """Choose the policy for trips of a company or a service type from this time on; None: remove the choice.

    `from_ms`: None is now.
    Raises `WrongSettingError` for an unknown policy, or if no company matches.
    """

    def choose(tx: WriteTx) -> None:
        if no is not None:
            known(tx, no)
            column = company.c.id if kind is Kind.COMPANY else company.c.service_type
            if not tx.all(select(company.c.id).where(column == subject).limit(1)):
                raise config_files.WrongSettingError(f"No company has the {_NAMES[kind]} {subject}.")
        now_ms = clock.now_ms()
        policies.choose(tx, kind, subject, no, from_ms=now_ms if from_ms is None else from_ms, now_ms=now_ms)

    async with stores.store_of(config) as store:
        await store.write(choose)


def known(tx: ReadTx, no: int) -> Policy:
    """The policy with this number. Raises `WrongSettingError`."""
    found = policies.one(tx, no)
    if found is None:
        there = ", ".join(str(each.no) for each in policies.every(tx)) or "none, for no trip has been scored"
        raise config_files.WrongSettingError(f"There is no policy {no}. Policies that there are: {there}.")
    return found


_NAMES = {Kind.COMPANY: "id", Kind.SERVICE_TYPE: "service type"}
