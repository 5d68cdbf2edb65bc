"""Everything that REST tells customers: every GET route of the published document, asked about every object that fits.

What no installation has of its own (pages, documents, health) is left out, and the account's sessions, which asking
changes.
"""

import contextlib
import itertools
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote, urlencode

from tests.support import answers

ABOUT_THE_PROGRAM = ("/account/", "/api/asyncapi.json", "/api/docs", "/api/openapi.json", "/health/", "/metrics")
CHANGED_BY_ASKING = ("/api/tre/v1/sessions",)
FOLLOWED = 4
"""Pages of a list that are walked; all of it is in one page as well."""
Said = tuple[int, bytes]
"""Status and body; of a refusal no body, for it tells the time."""
_CURSOR = re.compile(rb'"since":"[^"]*"')
"""The cursor of positions, which holds when it was made."""
OF_MAPS = ("/map/", "/api/tre/v1_3/maps")
"""Maps lie beside the store."""
Reading = dict[str, Said]
"""By who asked, and what."""


_UNTIL = str(time.time_ns() // 1_000_000 + 3_600_000)
"""An hour from now: later than every trip, and within the day that a client's clock may be ahead."""


def routes() -> dict[str, Mapping[str, Any]]:
    """The GET routes that answer about what an installation holds, with their parameters in the query."""
    return {
        path: {each["name"]: each for each in methods["get"].get("parameters", []) if each["in"] == "query"}
        for path, methods in sorted(answers.document()["paths"].items())
        if "get" in methods and not path.startswith((*ABOUT_THE_PROGRAM, *CHANGED_BY_ASKING, *OF_MAPS))
    }


def read(api: str, tokens: Mapping[str, str], known: Mapping[str, Sequence[str]]) -> Reading:
    """What each of these accounts is answered. `known`: values of parameters, by their names in the document."""
    found: Reading = {}
    with contextlib.closing(HTTPConnection(api.rpartition("/")[2], timeout=30)) as connection:
        for (name, token), (route, query) in itertools.product(tokens.items(), routes().items()):
            for path in _paths(route, known):
                for asked in _queries(query, known):
                    _ask(connection, token, found, name, path, asked)
    return found


def unanswered(reading: Reading) -> set[str]:
    """Routes that told nobody anything: refused to all, or empty lists."""
    told = {question.split(" ")[1] for question, (status, body) in reading.items() if status == 200 and _says(body)}
    return {route for route in routes() if not any(_fits(route, path) for path in told)}


def _ask(
    connection: HTTPConnection, token: str, found: Reading, name: str, path: str, asked: Mapping[str, str]
) -> None:
    """One question; where the answer is a page, some that follow."""
    query = dict(asked)
    for _ in range(FOLLOWED):
        connection.request("GET", f"{quote(path)}?{urlencode(query)}", headers={"X-Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status < 500, body
        told = _CURSOR.sub(b'"since":""', body) if answer.status == 200 else b""
        found[f"{name} {path} {query}"] = (answer.status, told)
        following = json.loads(body).get("nextPageLink") if told.startswith(b"{") else None
        if following is None:
            return
        query = dict(asked) | {key: _text(value) for key, value in following.items() if value is not None}


def _paths(route: str, known: Mapping[str, Sequence[str]]) -> Iterator[str]:
    names = [part[1:-1] for part in route.split("/") if part.startswith("{")]
    for values in itertools.product(*(known[name] for name in names)):
        yield route.format(**dict(zip(names, values, strict=True)))


def _queries(query: Mapping[str, Any], known: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    """A list whole, from page to page, and by each of its other parameters; an object by each of those."""
    # Trips by start are of the last days before now, unless their bounds are named.
    bounds = {"startTime": "0", "endTime": _UNTIL} if "overLimit" in query else {}
    if "limit" in query:
        yield {"limit": "2", **bounds}
        yield {"limit": "1000", **bounds, **({"ascOrder": "true"} if "ascOrder" in query else {})}
    elif not any(each.get("required") for each in query.values()):
        yield {}
    page = {"limit": "1000", **bounds} if "limit" in query else {}
    for name in query:
        for value in known.get(name, ()):
            yield {**page, name: value}


def _text(value: Any) -> str:
    return str(value["id"] if isinstance(value, dict) else value)


def _says(body: bytes) -> bool:
    return body not in (b"", b"{}") and not body.startswith(b'{"data":[],')


def _fits(route: str, path: str) -> bool:
    parts, given = route.split("/"), path.split("/")
    return len(parts) == len(given) and all(
        part.startswith("{") or part == own for part, own in zip(parts, given, strict=True)
    )
