"""Commands that create, list, disable, enable and sign in accounts, with or without a running server."""

from collections.abc import Callable
from functools import partial
from typing import Final

from tripline import clock
from tripline.adapters import data_folder, sockets
from tripline.config import Config
from tripline.config import files as config_files
from tripline.domain import fields, ids
from tripline.domain.access import Authority
from tripline.maintenance import stores
from tripline.services.accounts import directory, passwords, registry
from tripline.store.accounts import directory as rows
from tripline.store.accounts.directory import Entry, Which
from tripline.store.transactions import WriteTx

_AT_ONCE: Final = 500
"""Accounts read in one transaction."""


async def created(config: Config, authority: Authority, *, email: str, password: str) -> ids.UserId:
    """Create an account without a company and return its id. Raises `people.EmailTaken`."""
    fields.email("email", email)
    fields.required("password", password)
    hasher = passwords.Passwords(config.passwords)
    try:
        password_hash = hasher.hash_now(password)
    finally:
        hasher.close()
    async with stores.store_of(config) as store, stores.numbering(store) as maker:
        return await store.write(
            lambda tx: registry.create_alone(
                tx, authority, email=email, password_hash=password_hash, ids=maker, now_ms=clock.now_ms()
            )
        )


async def listed(config: Config, which: Which, *, show: Callable[[Entry], None]) -> int:
    """Show each of these accounts, by e-mail address, and return their number."""
    shown, after = 0, None
    async with stores.store_of(config) as store:
        while page := await store.read(partial(rows.page, which=which, after=after, limit=_AT_ONCE)):
            for entry in page:
                show(entry)
            shown += len(page)
            after = page[-1].login
    return shown


async def enabled(config: Config, *, email: str, enabled: bool) -> bool:
    """Enable the account, or disable it and end its sessions; false if it was so already. Raises `NotFound`."""

    def work(tx: WriteTx) -> bool:
        found = directory.of_email(tx, email=email)
        if enabled:
            directory.enable(tx, user_id=found.id)
        else:
            directory.disable(tx, user_id=found.id, now_ms=clock.now_ms())
        return found.enabled is not enabled

    async with stores.store_of(config) as store:
        return await store.write(work)


async def sign_in_link(config: Config, *, email: str, url: str | None) -> str:
    """A link that signs the account in once. Its base is `url`, else `accounts.public_url`, else the address of the
    data folder's running server, else the API port's. Raises `NotFound`, `WrongSettingError`."""
    base = url or config.accounts.public_url or data_folder.address_of(config.data) or _address(config)
    async with stores.store_of(config) as store:
        return await store.write(lambda tx: directory.sign_in_link(tx, email=email, base=base, now_ms=clock.now_ms()))


def _address(config: Config) -> str:
    """The API port's connectable address. Raises `WrongSettingError` if the port is chosen at start."""
    if not config.api_port:
        raise config_files.WrongSettingError("The server picks its port by itself: name its address with --url.")
    host = "127.0.0.1" if config.host in sockets.EVERY_ADDRESS else config.host
    scheme = "https" if config_files.uses_https(config) else "http"
    return f"{scheme}://{sockets.address_text(host, config.api_port)}"
