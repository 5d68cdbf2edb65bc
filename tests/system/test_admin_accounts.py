"""`tripline admin list`, `disable`, `enable`: on a stopped server and beside a running one."""

import time

import httpx
import pytest
from tests.support import servers

PASSWORD = "a long pass phrase"
KIM, LEE, ROOT = "kim@x.example", "lee@x.example", "root@x.example"


def admin(data, *words: str, stdin: str = ""):
    return servers.run_here("admin", words[0], "--data", str(data), *words[1:], stdin=stdin)


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    for kind, email in (("grant", KIM), ("grant", LEE), ("create", ROOT)):
        made = admin(folder, kind, "--email", email, "--password-stdin", stdin=f"{PASSWORD}\n")
        assert made.returncode == 0, made.stderr
    return folder


def shown(done) -> list[str]:
    """What follows the time of each line."""
    assert done.returncode == 0, done.stderr
    return [line.split(" ", 2)[2] for line in done.stdout.splitlines()[:-1]]


def test_accounts_are_listed_by_address_with_state_role_and_company(data):
    assert admin(data, "disable", "--email", "LEE@x.example").stdout == "account LEE@x.example disabled\n"

    everybody = admin(data, "list")

    assert everybody.stdout.splitlines()[-1] == "3 accounts"
    assert shown(everybody) == [
        f"enabled COMPANY_ADMIN {KIM} -",
        f"disabled COMPANY_ADMIN {LEE} -",
        f"enabled SYS_ADMIN {ROOT} -",
    ]
    assert shown(admin(data, "list", "--role", "SYS_ADMIN")) == [f"enabled SYS_ADMIN {ROOT} -"]
    assert shown(admin(data, "list", "--disabled")) == [f"disabled COMPANY_ADMIN {LEE} -"]
    assert shown(admin(data, "list", "--email", "KI")) == [f"enabled COMPANY_ADMIN {KIM} -"]


def test_disabling_and_enabling_twice_says_so(data):
    said = [admin(data, word, "--email", KIM).stdout for word in ("disable", "disable", "enable", "enable")]

    assert said == [
        f"account {KIM} disabled\n",
        f"account {KIM} was disabled already\n",
        f"account {KIM} enabled\n",
        f"account {KIM} was enabled already\n",
    ]


@pytest.mark.parametrize("word", ["disable", "enable"])
def test_account_that_is_not_there_is_refused_in_one_line(data, word):
    done = admin(data, word, "--email", "no@x.example")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "tripline: There is no account with the e-mail address no@x.example.\n"


def test_disabled_account_is_out_within_a_second_and_its_tokens_stay_dead_when_it_is_enabled(data):
    with servers.serving(data) as server, httpx.Client(base_url=server.api) as api:
        credentials = {"username": KIM, "password": PASSWORD}
        token = api.post("/api/auth/login", json=credentials).json()["token"]

        def status(path: str = "/api/auth/user") -> int:
            return api.get(path, headers={"X-Authorization": f"Bearer {token}"}).status_code

        before = status()
        assert admin(data, "disable", "--email", KIM).returncode == 0
        ended = time.monotonic()
        after, waited = status(), time.monotonic() - ended
        refused = api.post("/api/auth/login", json=credentials).status_code
        assert admin(data, "enable", "--email", KIM).returncode == 0
        again = status(), api.post("/api/auth/login", json=credentials).status_code

    assert (before, after, refused, again) == (200, 401, 401, (401, 200))
    assert waited < 1


def link(data, *words: str, **variables: str) -> str:
    where = ("--data", str(data), "--email", KIM)
    done = servers.run_here("admin", "sign-in-link", *where, *words, variables=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.partition("/sign-in/link?")[0]


def test_sign_in_link_has_the_running_server_s_address(data):
    with servers.serving(data) as server:
        running, named = link(data), link(data, "--url", "https://named.example")
        public = link(data, TRIPLINE_ACCOUNTS_PUBLIC_URL="https://public.example")
    stopped = link(data)

    assert (running, named, public) == (server.api, "https://named.example", "https://public.example")
    assert stopped == "http://127.0.0.1:8080"
