"""Every mailer: the folder of .eml files, and SMTP to a real server, plain, with STARTTLS and with TLS."""

import asyncio
from contextlib import contextmanager

import pytest
from tests.support import certificates, mail

from tripline import config
from tripline.adapters.mail import smtp
from tripline.adapters.mail.folder import MailFolder
from tripline.adapters.mail.smtp import SmtpMailer
from tripline.ports.mails import Letter, LetterRefusedError
from tripline.ports.outages import Outage

NOW_MS = 1_760_000_000_000
SENDER = "트립라인 <no-reply@tripline.example>"
KOREAN = Letter(
    "kim@fleet.example",
    "계정이 준비되었습니다",
    "안녕하세요 김하늘 님,\n\n비밀번호를 정하세요.\n" + "가" * 2_000 + "\n",
)


def whole(sending):
    """Play the sending, then let the loop turn until all is closed, as a program does."""

    async def played():
        try:
            return await sending
        finally:
            for _ in range(10):
                await asyncio.sleep(0)

    return asyncio.run(played())


class FolderKind:
    """Letters in a folder."""

    def __init__(self, tmp_path):
        self.folder = tmp_path / "mail"
        self.mailer = MailFolder(self.folder, sender=SENDER, clock=lambda: NOW_MS)

    def received(self):
        return mail.in_folder(self.folder)


class SmtpKind:
    """Letters at a server."""

    def __init__(self, port, kept, **settings):
        self.kept = kept
        self.settings = config.Mail(host="127.0.0.1", port=port, sender=SENDER, timeout_s=10, **settings)
        self.mailer = SmtpMailer(self.settings, clock=lambda: NOW_MS)

    def received(self):
        return self.kept.messages


@contextmanager
def opened(kind, tmp_path):
    if kind == "folder":
        yield FolderKind(tmp_path)
        return
    files = certificates.make(tmp_path)
    tls = None if kind == "none" else files.server_context()
    with mail.smtp_server(tls=tls, from_start=kind == "tls") as (port, kept):
        yield SmtpKind(port, kept, security=kind, ca=str(files.ca))


BREAKING = [
    ("kim@fleet.example\r\nBcc: all@x.example", "Hello"),
    ("kim@fleet.example\nBcc: all@x.example", "Hello"),
    ("kim@fleet.example", "Hello\r\nBcc: all@x.example"),
    ("kim@fleet.example", "Hello\n\nanother body"),
    ("kim@fleet.example, all@x.example", "Hello"),
    ("kim,all@x.example", "Hello"),
    ("<all@x.example>@fleet.example", "Hello"),
    ("kim(all)@fleet.example", "Hello"),
    ("kim@fleet.example>,<all@x.example", "Hello"),
    ('"kim"@fleet.example', "Hello"),
    ("kim", "Hello"),
    ("", "Hello"),
]
"""Recipients and subjects of which a header would be another one."""
every = pytest.mark.parametrize("kind", ["folder", "none", "starttls", "tls"])


@every
def test_letter_arrives_whole_with_its_headers(tmp_path, kind):
    with opened(kind, tmp_path) as here:
        whole(here.mailer.send(KOREAN))
        (message,) = here.received()

    assert (message["From"], message["To"], message["Subject"]) == (SENDER, KOREAN.recipient, KOREAN.subject)
    assert mail.text_of(message).replace("\r\n", "\n") == KOREAN.text
    assert message["Date"] == "Thu, 09 Oct 2025 08:53:20 -0000"
    assert message["Message-ID"].endswith("@tripline.example>")
    assert message["Auto-Submitted"] == "auto-generated"
    assert message.get_content_type() == "text/plain"


@every
def test_letter_that_would_break_a_header_is_refused_and_nothing_is_sent(tmp_path, kind):
    with opened(kind, tmp_path) as here:
        for recipient, subject in BREAKING:
            with pytest.raises(LetterRefusedError):
                whole(here.mailer.send(Letter(recipient, subject, "text")))

        assert here.received() == []


@every
@pytest.mark.parametrize("name", ['Kim "the boss" <x@y>', "김,하늘", "O'Hara; drop"])
def test_special_characters_of_a_subject_and_text_survive(tmp_path, kind, name):
    letter = Letter("kim@fleet.example", name, f"Hello {name},\n.\n..\nFrom here on\n")
    with opened(kind, tmp_path) as here:
        whole(here.mailer.send(letter))
        (message,) = here.received()

    assert message["Subject"] == letter.subject
    assert mail.text_of(message).replace("\r\n", "\n") == letter.text


@every
def test_letters_sent_at_once_arrive_each_by_itself(tmp_path, kind):
    async def send_all(mailer):
        await asyncio.gather(*(mailer.send(Letter(f"k{n}@x.example", "Hello", "text")) for n in range(5)))

    with opened(kind, tmp_path) as here:
        whole(send_all(here.mailer))

        assert sorted(message["To"] for message in here.received()) == [f"k{n}@x.example" for n in range(5)]


def test_folder_and_its_files_are_the_owners_alone(tmp_path):
    here = FolderKind(tmp_path)

    whole(here.mailer.send(KOREAN))

    (file,) = here.folder.iterdir()
    assert file.name.startswith(f"{NOW_MS}-")
    assert file.suffix == ".eml"
    assert (oct(here.folder.stat().st_mode), oct(file.stat().st_mode)) == ("0o40700", "0o100600")


def test_folder_that_cannot_be_written_is_an_outage(tmp_path):
    (tmp_path / "mail").write_text("a file where the folder should be")

    with pytest.raises(Outage, match="cannot be written"):
        whole(FolderKind(tmp_path).mailer.send(KOREAN))


def test_starttls_encrypts_before_the_letter(tmp_path):
    with opened("starttls", tmp_path) as here:
        whole(here.mailer.send(KOREAN))

        assert here.kept.encrypted == [True]


@pytest.mark.parametrize("kind", ["starttls", "tls"])
def test_server_of_an_unknown_authority_gets_nothing(tmp_path, kind):
    files = certificates.make(tmp_path)
    with mail.smtp_server(tls=files.server_context(), from_start=kind == "tls") as (port, kept):
        here = SmtpKind(port, kept, security=kind)
        with pytest.raises(Outage):
            whole(here.mailer.send(KOREAN))

        assert kept.messages == []


def test_server_without_starttls_gets_nothing(tmp_path):
    with mail.smtp_server() as (port, kept):
        with pytest.raises(Outage, match="STARTTLS"):
            whole(SmtpKind(port, kept, security="starttls").mailer.send(KOREAN))

        assert kept.messages == []


@pytest.mark.parametrize(("password", "logged_in"), [("open sesame", True), ("wrong", False)])
def test_log_in_is_done_with_the_settings(tmp_path, password, logged_in):
    files = certificates.make(tmp_path)
    with mail.smtp_server(tls=files.server_context(), login=True) as (port, kept):
        here = SmtpKind(port, kept, security="starttls", ca=str(files.ca), user="post", password=password)
        if logged_in:
            whole(here.mailer.send(KOREAN))
        else:
            with pytest.raises(Outage) as outage:
                whole(here.mailer.send(KOREAN))
            assert password not in str(outage.value)

        assert kept.logins[:1] == [("post", password)]
        assert len(kept.messages) == logged_in


@pytest.mark.parametrize("command", ["RCPT", "DATA"])
@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        ("450 4.2.0 come back later", Outage),
        ("499 unusual", Outage),
        ("500 unusual", LetterRefusedError),
        ("550 5.1.1 no such user", LetterRefusedError),
    ],
)
def test_answers_from_500_on_are_for_ever_and_those_below_are_not(tmp_path, command, answer, trouble):
    with mail.smtp_server() as (port, kept):
        kept.answers[command] = answer
        with pytest.raises(trouble, match=answer[4:]):
            whole(SmtpKind(port, kept, security="none").mailer.send(KOREAN))


def test_address_in_korean_is_sent_to_where_the_server_can_and_refused_where_not(tmp_path):
    letter = Letter("김하늘@도메인.example", "Hello", "text")
    with mail.smtp_server() as (port, kept):
        whole(SmtpKind(port, kept, security="none").mailer.send(letter))
        assert kept.recipients == [[letter.recipient]]

    with mail.smtp_server(utf8=False) as (port, kept):
        with pytest.raises(LetterRefusedError):
            whole(SmtpKind(port, kept, security="none").mailer.send(letter))
        assert kept.messages == []


def test_server_that_says_nothing_is_an_outage_after_the_time_set():
    async def send():
        async with mail.silent_server() as port:
            settings = config.Mail(host="127.0.0.1", port=port, security="none", timeout_s=0.2)
            await SmtpMailer(settings, clock=lambda: NOW_MS).send(KOREAN)

    with pytest.raises(Outage, match=r"did not answer within 0\.2 s"):
        whole(send())


def test_server_that_is_not_there_is_an_outage():
    settings = config.Mail(host="127.0.0.1", port=1, security="none")

    with pytest.raises(Outage, match=r"127\.0\.0\.1:1 cannot be used"):
        whole(SmtpMailer(settings, clock=lambda: NOW_MS).send(KOREAN))


def test_authority_that_cannot_be_read_is_said_at_once(tmp_path):
    (tmp_path / "ca.pem").write_text("no certificate")

    for ca in (tmp_path / "ca.pem", tmp_path / "nothing"):
        with pytest.raises(Outage, match=r"mail\.ca"):
            SmtpMailer(config.Mail(host="x", ca=str(ca)), clock=lambda: NOW_MS)


def test_letter_that_the_server_took_is_sent_even_when_it_never_says_goodbye(tmp_path, monkeypatch):
    monkeypatch.setattr(smtp, "_GOODBYE_S", 0.1)
    with mail.smtp_server() as (port, kept):
        kept.silent_at = "QUIT"
        whole(SmtpKind(port, kept, security="none").mailer.send(KOREAN))

        assert len(kept.messages) == 1


def test_sending_that_is_given_up_ends_at_once(tmp_path):
    async def give_up(mailer):
        sending = asyncio.ensure_future(mailer.send(KOREAN))
        done, _ = await asyncio.wait([sending], timeout=0.2)
        assert not done
        sending.cancel()
        async with asyncio.timeout(20):
            await asyncio.wait([sending])
        return sending.cancelled()

    with mail.smtp_server() as (port, kept):
        kept.silent_at = "DATA"
        assert whole(give_up(SmtpKind(port, kept, security="none").mailer))
