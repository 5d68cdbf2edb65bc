"""Tokens: form, life, and what is refused."""

import base64
import json
import uuid

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey
from tests.support.refused import refused

from tripline import config
from tripline.domain.ids import UserId
from tripline.services.accounts import tokens
from tripline.services.accounts.tokens import Bearer, Ticket, TokenExpired, Tokens, TokenUnreadable

KEY = b"k" * 64
NOW_MS = 1_760_000_000_500
USER = UserId("13816710-1dd2-11b2-8000-010000000001")
SETTINGS = config.Tokens(access_s=100, refresh_s=1_000)


def _maker(key: bytes = KEY) -> Tokens:
    return Tokens(key=key, settings=SETTINGS)


def _issue(maker: Tokens) -> tokens.Pair:
    ticket = Ticket("the session", str(uuid.uuid4()), 1_760_001_000_000)
    return maker.issue(user_id=USER, email="kim@fleet.example", authority="DIRECTOR", ticket=ticket, now_ms=NOW_MS)


def _part(token: str, index: int) -> dict[str, object]:
    text = token.split(".")[index]
    decoded: dict[str, object] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return decoded


def _signed(claims: dict[str, object], key: bytes = KEY) -> str:
    return jwt.encode({"alg": "HS512"}, claims, OctKey.import_key(key), algorithms=["HS512"], default_type=None)


def test_token_header_names_the_algorithm_and_nothing_else() -> None:
    assert _part(_issue(_maker()).token, 0) == {"alg": "HS512"}


def test_access_token_carries_the_published_claims() -> None:
    claims = _part(_issue(_maker()).token, 1)

    assert isinstance(claims.pop("jti"), str)
    assert claims == {
        "sub": "kim@fleet.example",
        "scopes": ["DIRECTOR"],
        "userId": USER,
        "enabled": True,
        "iss": "tripline",
        "iat": 1_760_000_000,
        "exp": 1_760_000_100,
        "sid": "the session",
    }


def test_access_token_names_its_session() -> None:
    maker = _maker()

    assert maker.bearer_of_access(_issue(maker).token, now_ms=NOW_MS) == Bearer(USER, "the session", 1_760_000_100)


@pytest.mark.parametrize("own", [{}, {"sid": 7}, {"sid": None}])
def test_access_token_of_no_session_is_refused(own: dict[str, object]) -> None:
    claims = {"userId": USER, "scopes": ["DRIVER"], "iat": 1_760_000_000, "exp": 2_000_000_000, **own}

    with refused(TokenUnreadable, match="no session"):
        _maker().bearer_of_access(_signed(claims), now_ms=NOW_MS)


def test_two_logins_in_one_instant_get_different_tokens() -> None:
    maker = _maker()

    assert len({*_texts(_issue(maker)), *_texts(_issue(maker))}) == 4


def _texts(pair: tokens.Pair) -> tuple[str, str]:
    return pair.token, pair.refresh_token


@pytest.mark.parametrize("warm", [False, True])
def test_access_token_is_good_until_the_last_ms_of_its_life(warm: bool) -> None:
    maker = _maker()
    token = _issue(maker).token
    if warm:
        maker.bearer_of_access(token, now_ms=NOW_MS)

    assert maker.bearer_of_access(token, now_ms=1_760_000_099_999).user_id == USER
    for late_ms in (1_760_000_100_000, 1_760_000_100_001):
        with pytest.raises(TokenExpired):
            maker.bearer_of_access(token, now_ms=late_ms)


@pytest.mark.parametrize(("access_s", "life_ms"), [(999, 1_000_000), (1_000, 1_000_000), (1_001, 1_001_000)])
def test_session_lasts_as_long_as_the_longer_of_its_tokens(access_s: int, life_ms: int) -> None:
    assert Tokens(key=KEY, settings=config.Tokens(access_s=access_s, refresh_s=1_000)).session_life_ms == life_ms


def test_refresh_token_is_good_until_the_last_ms_of_its_life() -> None:
    maker = _maker()
    ticket = Ticket("the session", "its own id", NOW_MS + maker.refresh_life_ms - 500)
    issued = maker.issue(user_id=USER, email="kim@fleet.example", authority="DRIVER", ticket=ticket, now_ms=NOW_MS)

    assert maker.ticket_of_refresh(issued.refresh_token, now_ms=1_760_000_999_999) == ticket
    with pytest.raises(TokenExpired):
        maker.ticket_of_refresh(issued.refresh_token, now_ms=1_760_001_000_000)


@pytest.mark.parametrize("own", [{}, {"sid": "s"}, {"jti": "j"}, {"sid": 7, "jti": "j"}, {"sid": "s", "jti": None}])
def test_refresh_token_of_no_session_is_refused(own: dict[str, object]) -> None:
    claims = {"userId": USER, "scopes": ["REFRESH_TOKEN"], "exp": 2_000_000_000, **own}

    with refused(TokenUnreadable, match="no session"):
        _maker().ticket_of_refresh(_signed(claims), now_ms=NOW_MS)


def test_refresh_token_as_access_token_is_refused_and_the_reverse() -> None:
    maker = _maker()
    pair = _issue(maker)

    with pytest.raises(TokenUnreadable):
        maker.bearer_of_access(pair.refresh_token, now_ms=NOW_MS)
    with pytest.raises(TokenUnreadable):
        maker.ticket_of_refresh(pair.token, now_ms=NOW_MS)


def test_token_with_any_changed_character_is_refused() -> None:
    maker = _maker()
    token = _issue(maker).token
    # The last characters of a part may hold bits that belong to no byte, so one before them is changed.
    places = [2, token.index(".") + 5, token.rindex(".") + 5]

    for place in places:
        changed = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
        with pytest.raises(TokenUnreadable):
            maker.bearer_of_access(changed, now_ms=NOW_MS)


def test_token_without_signature_is_refused() -> None:
    claims = _issue(_maker()).token.split(".")[1]
    header = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()

    for token in (f"{header}.{claims}.", f"{header}.{claims}", f"{header}..{claims}"):
        with pytest.raises(TokenUnreadable):
            _maker().bearer_of_access(token, now_ms=NOW_MS)


def test_token_of_another_key_is_refused() -> None:
    token = _issue(_maker(b"x" * 64)).token

    with pytest.raises(TokenUnreadable):
        _maker().bearer_of_access(token, now_ms=NOW_MS)


def test_token_of_another_algorithm_is_refused() -> None:
    claims = _part(_issue(_maker()).token, 1)
    token = jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(KEY), algorithms=["HS256"])

    with pytest.raises(TokenUnreadable):
        _maker().bearer_of_access(token, now_ms=NOW_MS)


@pytest.mark.parametrize(
    "claims",
    [
        {"userId": USER, "scopes": ["DIRECTOR"]},
        {"userId": USER, "exp": 2_000_000_000},
        {"scopes": ["DIRECTOR"], "exp": 2_000_000_000},
        {"userId": 7, "scopes": ["DIRECTOR"], "exp": 2_000_000_000},
        {"userId": USER, "scopes": "DIRECTOR", "exp": 2_000_000_000},
        {"userId": USER, "scopes": ["DIRECTOR"], "exp": "2000000000"},
        {"userId": USER, "scopes": ["DIRECTOR"], "exp": 2_000_000_000, "sid": 7},
        {"userId": USER, "scopes": ["DIRECTOR"], "exp": 2_000_000_000, "iat": "1"},
    ],
)
def test_signed_token_without_a_needed_claim_or_with_a_bad_one_is_refused(claims: dict[str, object]) -> None:
    with pytest.raises(TokenUnreadable):
        _maker().bearer_of_access(_signed(claims), now_ms=NOW_MS)


@pytest.mark.parametrize("text", ["", ".", "..", "a.b.c", "é.é.é", "a" * 4_096, "a" * 4_097, "\x00"])
def test_text_that_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(TokenUnreadable):
        _maker().bearer_of_access(text, now_ms=NOW_MS)


def test_known_tokens_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_KNOWN_MAX", 3)
    maker = _maker()
    issued = [_issue(maker).token for _ in range(5)]

    for token in issued:
        assert maker.bearer_of_access(token, now_ms=NOW_MS).user_id == USER

    assert list(maker._known) == issued[2:]
