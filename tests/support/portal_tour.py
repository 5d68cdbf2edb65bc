"""Ways through the portal of a running server: each page that is declared once, found by following links as people do.

A page that no link leads to is not found, so a test that wants every page notices it.
"""

import re
from collections import deque
from collections.abc import Iterable
from functools import cache
from urllib.parse import urlsplit

import httpx
import msgspec

from tests.support.portal import Page
from tripline.http import operations
from tripline.portal import families

APART = re.compile(r"^/(api|static|health|metrics)(/|$)|^/sign-out$|export|download|sample")
"""Not pages: other families, the end of the session, files."""
MOST = 400
"""Addresses looked at in one walk."""
COOKIE = "tripline"
"""Name of the cookie of a session."""


class Stop(msgspec.Struct, frozen=True):
    """A page as declared, and an address where it is found."""

    pattern: str
    address: str


@cache
def patterns() -> tuple[str, ...]:
    """Paths of every page that is read, those with fewer holes first."""
    declared = operations.declared(families.FAMILIES)
    paths = {each.path for each in declared if each.method == "GET" and each.answer_type == "text/html"}
    return tuple(sorted((path for path in paths if not APART.search(path)), key=lambda path: (path.count("{"), path)))


def pattern_of(path: str) -> str | None:
    """The declared page that a path belongs to."""
    for pattern in patterns():
        if re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", pattern), path):
            return pattern
    return None


def walk(origin: str, session: str | None, starts: Iterable[str] = ("/",)) -> list[Stop]:
    """The pages that links lead to from these addresses, nearest first, for whoever has the session."""
    found: dict[str, str] = {}
    waiting = deque(starts)
    seen = set(waiting)
    cookies = {} if session is None else {COOKIE: session}
    with httpx.Client(base_url=origin, cookies=cookies, follow_redirects=True, timeout=20, trust_env=False) as http:
        while waiting and len(seen) < MOST:
            address = waiting.popleft()
            if pattern_of(urlsplit(address).path) in found:
                continue
            answer = http.get(address)
            pattern = pattern_of(answer.url.path)
            if not answer.is_success or pattern is None or pattern in found:
                continue
            found[pattern] = answer.url.raw_path.decode("ascii")
            for link in Page(answer.text).hrefs:
                path = urlsplit(link).path
                if not link.startswith("/") or APART.search(path) or path in seen or pattern_of(path) in (None, *found):
                    continue
                seen.add(path)
                waiting.append(link)
    return [Stop(pattern, address) for pattern, address in found.items()]
