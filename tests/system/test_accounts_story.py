"""From the application for a service account to a registered company, with mails as an applicant gets them.

A server sends to a real SMTP server, over STARTTLS with a log-in, or into its folder of .eml files.
"""

import html
import re
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from tests.support import certificates, mail, servers, waits

ROOT = "root@platform.example"
PASSWORD = "a long pass phrase"
CHOSEN = "비밀번호는 길게 정한다"
APPLICANT = "ops@hanbit.example"
FORM = {
    "serviceName": "안전 택시",
    "companyName": "Hanbit <Mobility> & Co",
    "contactName": "김하늘",
    "mobile": "010-1234-5678",
    "email": APPLICANT,
    "introduction": "Driving scores for 200 taxis.\nShown after each shift.",
}
FIELD = re.compile(r'<input type="hidden" name="token" value="([^"]+)">')


class Post:
    """Where the server's mails arrive."""

    def __init__(self, variables, messages):
        self.variables = variables
        self.messages = messages

    def wait_for(self, count):
        """The mails, once there are so many."""
        return waits.seen(self.messages, lambda found: len(found) >= count, within_s=20)


@contextmanager
def post_office(kind, tmp_path):
    if kind == "folder":
        yield Post({}, lambda: mail.in_folder(tmp_path / "data" / "mail"))
        return
    files = certificates.make(tmp_path)
    with mail.smtp_server(tls=files.server_context(), login=True) as (port, kept):
        variables = {
            "TRIPLINE_MAIL_HOST": "127.0.0.1",
            "TRIPLINE_MAIL_PORT": str(port),
            "TRIPLINE_MAIL_CA": str(files.ca),
            "TRIPLINE_MAIL_USER": "post",
            "TRIPLINE_MAIL_PASSWORD": "open sesame",
            "TRIPLINE_MAIL_SENDER": "트립라인 <no-reply@tripline.example>",
        }
        yield Post(variables, lambda: list(kept.messages))


class Server:
    """A running server, asked as an applicant and as its administrator."""

    def __init__(self, running, http):
        self.http = http
        made = servers.run_here(
            "admin", "create", "--data", str(running.data), "--email", ROOT, "--password-stdin", stdin=PASSWORD
        )
        assert made.returncode == 0, made.stderr
        self.root = self.log_in(ROOT, PASSWORD)

    def ask(self, method, path, body=None, token=None):
        headers = {} if token is None else {"X-Authorization": f"Bearer {token}"}
        return self.http.request(method, path, json=body, headers=headers)

    def good(self, method, path, body=None, token=None):
        answer = self.ask(method, path, body, token)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def log_in(self, email, password):
        return self.good("POST", "/api/auth/login", {"username": email, "password": password})["token"]

    def code(self, method, path, body=None, token=None):
        answer = self.ask(method, path, body, token)
        return answer.status_code, answer.json()["errorCode"]

    def submitted(self):
        """The only application under review."""
        (found,) = self.good("GET", "/api/tre/v1/applications?limit=10&state=SUBMITTED", token=self.root)["data"]
        return found

    def decide(self, application, decision, body=None):
        path = f"/api/tre/v1/application/{application['id']['id']}/{decision}"
        return self.good("POST", path, body, token=self.root)

    def fill_in(self, link, password, again=None):
        """Open the link as a browser does and send its form; status and text of the answer."""
        page = self.http.get(link)
        assert page.status_code == 200, page.text
        token = html.unescape(FIELD.search(page.text)[1])
        path = html.unescape(re.search(r'action="([^"]+)"', page.text)[1])
        form = {"token": token, "password": password, "again_password": password if again is None else again}
        answer = self.http.post(path, data=form, follow_redirects=True)
        return answer.status_code, answer.text


@contextmanager
def story(kind, tmp_path, **variables):
    with post_office(kind, tmp_path) as post:
        settings = {**post.variables, **variables}
        with (
            servers.serving(tmp_path / "data", variables=settings) as running,
            httpx.Client(base_url=running.api, timeout=20) as http,
        ):
            yield post, Server(running, http)


@pytest.mark.parametrize("kind", ["smtp", pytest.param("folder", marks=pytest.mark.deep)])
def test_applicant_becomes_the_administrator_of_an_operator_company(tmp_path, kind):
    with story(kind, tmp_path) as (post, server):
        assert server.good("POST", "/api/noauth/application", FORM) == {}
        application = server.submitted()
        approved = server.decide(application, "approve")
        (letter,) = post.wait_for(1)
        link = mail.link_in(letter)

        assert {name: application[name] for name in FORM} == FORM
        assert (application["state"], approved["state"]) == ("SUBMITTED", "APPROVED")
        assert letter["To"] == APPLICANT
        assert "김하늘" in mail.text_of(letter)
        assert "안전 택시" in mail.text_of(letter)
        assert link.startswith(str(server.http.base_url).rstrip("/"))
        assert server.code("POST", "/api/auth/login", {"username": APPLICANT, "password": CHOSEN}) == (401, 10)

        # A mail scanner opens the link, a person mistypes twice; neither uses it up.
        assert server.http.head(link).status_code == 200
        status, text = server.fill_in(link, "short", "short")
        assert (status, "at least 8 characters" in text) == (400, True)
        status, text = server.fill_in(link, CHOSEN, CHOSEN + "x")
        assert (status, "are not the same" in text) == (400, True)
        status, text = server.fill_in(link, CHOSEN)
        assert (status, "Your password is set" in text) == (200, True)

        token = server.log_in(APPLICANT, CHOSEN)
        company = {"name": "Hanbit", "serviceType": "hanbit", "picName": "Kim", "picEmail": APPLICANT}
        record = server.good("POST", "/api/tre/v1/company", {**company, "picPasswd": CHOSEN}, token)
        assert record["master"] is True
        assert server.good("GET", "/api/tre/v1/company/me", token=token)["id"] == record["id"]


@pytest.mark.parametrize("kind", ["smtp", pytest.param("folder", marks=pytest.mark.deep)])
def test_used_replaced_and_altered_links_are_refused(tmp_path, kind):
    with story(kind, tmp_path) as (post, server):
        server.good("POST", "/api/noauth/application", FORM)
        server.decide(server.submitted(), "approve")
        first = mail.link_in(post.wait_for(1)[0])
        assert server.good("POST", "/api/noauth/resetPasswordByEmail", {"email": APPLICANT.upper()}) == {}
        second = mail.link_in(next(each for each in post.wait_for(2) if mail.link_in(each) != first))

        assert unusable(server, first)
        assert unusable(server, second[:-1] + ("A" if second[-1] != "A" else "B"))
        assert unusable(server, second + "A")
        assert unusable(server, second.partition("=")[0])
        assert server.fill_in(second, CHOSEN)[0] == 200
        assert unusable(server, second)
        assert server.log_in(APPLICANT, CHOSEN)


def unusable(server, link):
    """Whether the link is refused as a page, as a form and by the operation for programs."""
    page = server.http.get(link)
    token = "".join(parse_qs(urlsplit(link).query).get("token", []))
    sent = server.http.post(
        "/account/set-password", data={"token": token, "password": "12345678", "again_password": "12345678"}
    )
    program = server.code("POST", "/api/noauth/setPassword", {"token": token, "password": "12345678"})
    told = "no longer works"
    return (page.status_code, told in page.text, sent.status_code, told in sent.text, program) == (
        400,
        True,
        400,
        True,
        (400, 31),
    )


def test_expired_link_is_refused(tmp_path):
    with story("smtp", tmp_path, TRIPLINE_ACCOUNTS_LINK_HOURS="0.0000001") as (post, server):
        server.good("POST", "/api/noauth/application", FORM)
        server.decide(server.submitted(), "approve")
        link = mail.link_in(post.wait_for(1)[0])

        assert unusable(server, link)


def test_rejected_applicant_is_told_why_and_has_no_account(tmp_path):
    with story("smtp", tmp_path) as (post, server):
        server.good("POST", "/api/noauth/application", FORM)
        reason = "전화가 연결되지 않았습니다.\n.\nCall us."
        rejected = server.decide(server.submitted(), "reject", {"reason": reason})
        (letter,) = post.wait_for(1)

        assert (rejected["state"], rejected["reason"]) == ("REJECTED", reason)
        assert reason in mail.text_of(letter).replace("\r\n", "\n")
        assert "set-password" not in mail.text_of(letter)
        # Nobody has this account now, and the applicant may apply again.
        server.good("POST", "/api/noauth/resetPasswordByEmail", {"email": APPLICANT})
        server.good("POST", "/api/noauth/application", FORM)
        server.decide(server.submitted(), "approve")
        assert "set-password" in mail.text_of(post.wait_for(2)[1])


@pytest.mark.deep
def test_korean_browser_meets_korean_in_refusals_mails_and_pages(tmp_path):
    with story("folder", tmp_path) as (post, server):
        server.http.headers["Accept-Language"] = "ko-KR,ko;q=0.9,en-US;q=0.8,en;q=0.7"
        refused = server.ask("POST", "/api/noauth/application", {**FORM, "email": "nobody"})
        server.good("POST", "/api/noauth/application", FORM)
        korean = server.http.headers.pop("Accept-Language")
        server.decide(server.submitted(), "approve")
        server.http.headers["Accept-Language"] = korean
        (letter,) = post.wait_for(1)
        link = mail.link_in(letter)
        page = server.http.get(link)
        status, text = server.fill_in(link, "short", "short")
        set_status, done = server.fill_in(link, CHOSEN)
        server.good("POST", "/api/noauth/resetPasswordByEmail", {"email": APPLICANT})
        reset = post.wait_for(2)[1]

    assert (refused.status_code, refused.json()["errorCode"]) == (400, 31)
    assert refused.json()["message"] == "매개변수 'email': 이메일 주소여야 합니다."
    assert (refused.headers["content-language"], refused.headers["vary"]) == ("ko", "Accept-Language")
    assert [letter["Subject"], reset["Subject"]] == ["서비스 계정이 준비되었습니다", "새 비밀번호 설정"]
    assert "안전 택시 서비스 신청이 승인되었습니다." in mail.text_of(letter)
    assert '<html lang="ko"' in page.text
    assert (status, "비밀번호: 8자 이상이어야 합니다." in text) == (400, True)
    assert (set_status, "비밀번호가 설정되었습니다" in done) == (200, True)
