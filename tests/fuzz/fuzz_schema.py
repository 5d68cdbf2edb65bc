"""Requests made from the published document: `python -m tests.fuzz.fuzz_schema --seconds 1200 [--role NAME]`.

schemathesis makes requests that fit an operation's schema and requests that do not; ids of every company are put in
their places, and every role asks. Whatever is asked: no 5xx, no answer outside the schema (every answer is held against
it by `tests/support/answers.py`), and no text of a company whose rows the account may not read. A short run is a test.
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import hypothesis
import schemathesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from schemathesis import GenerationMode
from tests.fuzz.schema_world import World
from tests.support import answers, stores
from tests.support.rest import Login, Rest

UNIQUE = {"vehicleNo", "serialNo", "serviceType", "serviceName"}
EMAILS = {"email", "picEmail", "username"}
OTHERS = ("/health", "/metrics", "/api/docs", "/api/openapi.json", "/api/asyncapi.json")
"""Paths that have nothing to do with customers' rows."""
STEP_MS = 1_000
"""What the clock moves on between two requests, so that limits by time let go."""


class Leak(AssertionError):  # noqa: N818  as pytest shows it
    """An answer that holds a text of a company that the account may not read."""


class Player:
    """Plays requests against one world."""

    def __init__(self, world: World, *, role: str, seed: int, until: float) -> None:
        self.world, self.until = world, until
        self.names = [name for name in world.logins if role in name]
        self.rng = random.Random(seed)
        self.seen: Counter[int] = Counter()
        self.fresh = 0
        self.failure: AssertionError | None = None

    async def ask(self, case: Any, name: str) -> None:
        """One request as the named account, and what is demanded of its answer."""
        login = self.world.logins[name]
        readable = await self.world.may_read(login)
        self.world.rest.now_ms += STEP_MS
        answer = await self.world.rest.http.request(**self._request(case, login))
        self.seen[answer.status_code] += 1
        told = f"{name}: {answer.request.method} {answer.request.url} -> {answer.status_code} {answer.text[:400]}"
        assert answer.status_code < 500, told
        if readable is not None:
            readable |= await self.world.may_read(login) or set()
            leaked = {mark for mark, owner in self.world.marks.items() if mark in answer.text and owner not in readable}
            if leaked:
                raise Leak(f"{told}: holds {leaked}")

    def _request(self, case: Any, login: Login | None) -> dict[str, Any]:
        path = case.path
        for place, value in (case.path_parameters or {}).items():
            path = path.replace(f"{{{place}}}", quote(str(self._known(place, value, login)), safe="", errors="replace"))
        query = {key: self._known(key, value, login) for key, value in (case.query or {}).items()}
        headers = [
            (key.encode("ascii", "ignore"), str(self._known(key, value, login)).encode("latin-1", "replace"))
            for key, value in (case.headers or {}).items()
            if key.lower() not in ("x-authorization", "content-length", "host")
        ]
        if login is not None:
            headers.append((b"X-Authorization", f"Bearer {login.token}".encode()))
        url = path + ("?" + urlencode(query, doseq=True, errors="replace") if query else "")
        return {"method": case.method, "url": url, "headers": headers, "content": self._body(case, login)}

    def _known(self, place: str, value: Any, login: Login | None) -> Any:
        """Mostly an id of the right sort: often of the account's company, else of any."""
        fitting = self.world.ids.get({"toCompanyId": "companyId"}.get(place, place))
        if fitting is None or self.rng.random() < 0.15:
            return value
        own = fitting.get(login.company_id or "") if login is not None else None
        return own if own is not None and self.rng.random() < 0.5 else self.rng.choice(list(fitting.values()))

    def _body(self, case: Any, login: Login | None) -> bytes | None:
        body = case.body
        described = answers.document()["paths"][case.path][case.method.lower()].get("requestBody")
        if described is None:
            return None
        example = next(iter(described["content"].values())).get("example")
        if isinstance(example, dict) and self.rng.random() < 0.4:
            body = self._plausible(example, login)
        if not isinstance(body, dict | list | str | int | float | bool | None):
            return b""
        text = body if isinstance(body, str) and case.media_type != "application/json" else json.dumps(body)
        return text.encode("utf-8", "replace")

    def _plausible(self, example: dict[str, Any], login: Login | None) -> dict[str, Any]:
        """The documented example with ids that exist and names that do not."""
        self.fresh += 1
        body = {key: value for key, value in example.items() if self.rng.random() < 0.9}
        for key in body.keys() & UNIQUE:
            body[key] = f"fresh {self.fresh}"
        for key in body.keys() & EMAILS:
            body[key] = f"fresh{self.fresh}@x.example"
        for key, value in body.items():
            if isinstance(value, dict) and "id" in value:
                body[key] = {"id": self._known("companyId" if key == "id" else key, value["id"], login)}
        if "credentialsId" in body:
            body["credentialsId"] = f"{self.fresh:020d}"
        return body


METHODS = ("get", "post", "put", "delete")
"""Reading comes first, deleting last."""


def run(
    folder: Path,
    *,
    seed: int,
    examples: int,
    role: str = "",
    methods: tuple[str, ...] = METHODS,
    chosen: Callable[[str, str], bool] = lambda method, path: True,
    until: float = float("inf"),
) -> Counter[int]:
    """How often each status was answered: every operation of these methods that is `chosen`, so many requests each."""
    document = {**answers.document(), "servers": []}
    schema = schemathesis.openapi.from_dict(document)
    found = [each.ok() for each in schema.get_all_operations()]
    of_method = [each for each in found if each.method.lower() in methods and not each.path.startswith(OTHERS)]
    asked = [each for each in of_method if chosen(each.method.lower(), each.path)]
    with asyncio.Runner() as runner:
        rest = runner.run(_open(folder))
        try:
            world = runner.run(World(rest).fill())
            player = Player(world, role=role, seed=seed, until=until)
            for each in sorted(asked, key=lambda each: (methods.index(each.method.lower()), each.path)):
                if time.monotonic() < until:
                    _probe(each, player, runner.run, seed=seed, examples=examples)
        finally:
            runner.run(rest.close())
    return player.seen


async def _open(folder: Path) -> Rest:
    return Rest(stores.fresh(folder))


def _probe(operation: Any, player: Player, play: Callable[[Any], Any], *, seed: int, examples: int) -> None:
    """So many requests of one operation, by accounts of every role."""
    cases = st.one_of(
        operation.as_strategy(generation_mode=GenerationMode.POSITIVE),
        operation.as_strategy(generation_mode=GenerationMode.NEGATIVE),
    )

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(case=cases)
    def probe(case: Any) -> None:
        # A failure is raised after the last example: the world has changed, so that no example can be played again.
        if player.failure is None and time.monotonic() < player.until:
            try:
                play(player.ask(case, player.rng.choice(player.names)))
            except AssertionError as failure:
                player.failure = failure

    probe()
    if player.failure is not None:
        raise player.failure


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seconds", type=float, required=True)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--role", default="", help="part of an account's name: none, admin, operator, driver, ...")
    asked = arguments.parse_args()
    until, seed, seen = time.monotonic() + asked.seconds, asked.seed, Counter[int]()
    while time.monotonic() < until:
        with tempfile.TemporaryDirectory() as folder:
            seen += run(Path(folder), seed=seed, examples=60, role=asked.role, until=until)
        seed += 1
    print(f"{seen.total()} requests: {dict(sorted(seen.items()))}")


if __name__ == "__main__":
    main()
