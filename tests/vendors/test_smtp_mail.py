"""Mails go to a real SMTP server, aiosmtpd: with TLS or not at all, and say what they were told."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vendors.asking import Asked
from tests.vendors.mail_server import PASSWORD, Server

pytestmark = pytest.mark.long

STEP = "smtpMail.sendEmail: { to: a@b.co, subject: Hello, text: text }"


@pytest.fixture
def serving_mail(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    made: list[Server] = []

    def start(**options: Any) -> Server:
        made.append(Server(tmp_path, **options))
        return made[-1]

    yield start
    for one in made:
        one.server.stop()


def asked(
    box: Path, server: str, steps: str, *, ca: str = "", password: str = PASSWORD, more: str = ""
) -> Asked:
    config = (
        f"config:\n  server: {server}\n  user: shop\n  password: ${{ env.PASSWORD }}\n"
        "  senderEmail: shop@b.co\n  senderName: 'Söhne & Co'\n"
    )
    env = {"PASSWORD": password}
    if ca:
        config += "  caCertificate: ${ env.CA }\n"
        env["CA"] = ca
    return Asked(box, "smtpMail", config, steps, env=env, more=more)


def returning(step: str) -> str:
    return f"steps:\n  - {step}\n    as: mail\n  - return: {{ value: '${{ vars.mail }}' }}\n"


def caught(step: str, retry: str = "") -> str:
    return (
        f"steps:\n  - try:\n      - {step}\n{retry}    catch:\n      - return:\n"
        "          value: ['${ error.code }', '${ error.status }', '${ error.reason }',"
        " '${ error.message }']\n  - return: { value: [sent] }\n"
    )


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_a_mail_arrives_as_it_was_written(
    tmp_path: Path, serving_mail: Callable[..., Server], tls: str
) -> None:
    there = serving_mail(tls=tls)
    step = (
        "smtpMail.sendEmail: { to: [a@b.co, no@b.co, A@b.co], subject: 'Grüße',"
        " text: \"hällo\\n.\\nFrom me\", html: '<b>hällo ${ 1 + 1 }</b>' }"
    )
    reply = asked(tmp_path, there.url, returning(step), ca=there.pem).ask()
    assert reply.status == 200, reply.body
    assert reply.json["refused"] == ["no@b.co"]
    (mail,) = there.mails()
    assert (mail["from"], mail["to"]) == ("Söhne & Co <shop@b.co>", "a@b.co, no@b.co")
    assert (mail["subject"], mail["message-id"]) == ("Grüße", reply.json["messageId"])
    parts = {one.get_content_type(): one for one in mail.walk()}
    assert parts["text/plain"].get_content().splitlines() == ["hällo", ".", "From me"]
    assert parts["text/html"].get_content().strip() == "<b>hällo 2</b>"
    assert there.handler.got[0].rcpt_tos == ["a@b.co"]


def test_a_mail_for_each_shows_nobody_the_others(
    tmp_path: Path, serving_mail: Callable[..., Server]
) -> None:
    there = serving_mail()
    step = STEP.replace("to: a@b.co", "separately: true, to: [a@b.co, no@b.co, c@b.co]")
    reply = asked(tmp_path, there.url, returning(step), ca=there.pem).ask()
    assert reply.json["refused"] == ["no@b.co"]
    assert [one["to"] for one in there.mails()] == ["a@b.co", "c@b.co"]
    assert len({one["message-id"] for one in there.mails()}) == 2


def test_files_of_the_run_go_along(tmp_path: Path, serving_mail: Callable[..., Server]) -> None:
    there = serving_mail()
    step = STEP.replace(
        "text: text",
        "text: a, attachments: [{ path: '${ input.file.path }', name: 'Rechnung ü.pdf',"
        " contentType: application/pdf }]",
    )
    project = asked(
        tmp_path, there.url, returning(step), ca=there.pem,
        more="files: { file: { maxSize: 1MB } }\n",
    )  # fmt: skip
    assert project.send(b"%PDF-1", "application/pdf").status == 200
    (found,) = there.mails()[0].iter_attachments()
    assert (found.get_filename(), found.get_content_type()) == ("Rechnung ü.pdf", "application/pdf")
    assert found.get_content() == b"%PDF-1"


# ---- TLS is never given up
@pytest.mark.parametrize(("options", "ca", "code", "said"), [
    ({"tls": "none"}, True, "httpInvalid", "offers no TLS"),
    ({}, False, "httpUnreachable", "no certificate that is trusted"),
    ({"name": "mail.example.com"}, True, "httpUnreachable", "no certificate that is trusted"),
    ({"tls": "tls"}, False, "httpUnreachable", "no certificate that is trusted"),
])  # fmt: skip
def test_without_a_connection_that_is_trusted_nothing_is_sent(
    tmp_path: Path, serving_mail: Callable[..., Server], options: Any, ca: bool, code: str,
    said: str,
) -> None:  # fmt: skip
    there = serving_mail(**options)
    project = asked(tmp_path, there.url, caught(STEP), ca=there.pem if ca else "")
    found = project.ask().json
    assert (found[0], said in found[3], there.handler.got) == (code, True, [])
    assert PASSWORD not in f"{found}{project.log}"


def test_a_server_that_says_starttls_and_goes_on_in_the_clear_hears_no_password(
    tmp_path: Path,
) -> None:
    heard = bytearray()

    def talk(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"220 hi\r\n")
            for answer in (b"250-hi\r\n250 STARTTLS\r\n", b"220 go\r\n250 AUTH PLAIN\r\n" * 3):
                heard.extend(connection.recv(4096))
                connection.sendall(answer)
            try:
                heard.extend(connection.recv(65536))
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=talk, args=(listener,), daemon=True)
        thread.start()
        url = f"smtp://127.0.0.1:{listener.getsockname()[1]}"
        found = asked(tmp_path, url, caught(STEP)).ask().json
        thread.join(30)
    assert found[0] == "httpUnreachable"
    assert PASSWORD.encode() not in heard
    assert b"AUTH" not in heard


# ---- what a server answers
@pytest.mark.parametrize(("answers", "retry", "tries", "expected"), [
    (["550 5.7.1 spam"], True, 1, ["httpFailed", 550, "5.7.1"]),
    (["451 4.3.0 try later"], True, 3, ["httpFailed", 451, "4.3.0"]),
    (["451 4.3.0 try later", "250 ok"], True, 2, ["sent"]),
    (["552 too large"], False, 1, ["httpFailed", 552, None]),
])  # fmt: skip
def test_a_refusal_says_why_and_is_tried_again_where_it_may_pass(
    tmp_path: Path, serving_mail: Callable[..., Server], answers: list[str], retry: bool,
    tries: int, expected: list[Any],
) -> None:  # fmt: skip
    there = serving_mail()
    there.handler.answers = answers
    again = "        retry: { attempts: 3, backoff: 1ms }\n" if retry else ""
    found = asked(tmp_path, there.url, caught(STEP, again), ca=there.pem).ask().json
    assert found[:3] == expected
    assert there.handler.tries == tries


def test_of_mails_for_each_none_is_sent_twice(
    tmp_path: Path, serving_mail: Callable[..., Server]
) -> None:
    there = serving_mail()
    there.handler.answers = ["250 ok", "451 later"]
    step = STEP.replace("to: a@b.co", "separately: true, to: [a@b.co, c@b.co]")
    again = "        retry: { attempts: 3, backoff: 1ms }\n"
    found = asked(tmp_path, there.url, caught(step, again), ca=there.pem).ask().json
    assert (found[:2], there.handler.tries) == (["httpFailed", 451], 2)


def test_a_wrong_password_and_nobody_are_told_without_it(
    tmp_path: Path, serving_mail: Callable[..., Server]
) -> None:
    there = serving_mail()
    project = asked(tmp_path, there.url, caught(STEP), ca=there.pem, password="canary-wrong")
    found = project.ask().json
    assert found[:2] == ["httpFailed", 535]
    assert "canary-wrong" not in f"{found}{project.log}"
    step = STEP.replace("to: a@b.co", "to: no@b.co")
    found = asked(tmp_path, there.url, caught(step), ca=there.pem).ask().json
    assert found[:3] == ["httpFailed", 550, "5.1.1"]


@pytest.mark.parametrize("says", [
    b"250-x\r\n" * 20_000, b"220 hi", b"", b"HTTP/1.1 400\r\n\r\n", b"\xff" * 9_000,
], ids=["endless", "cut", "nothing", "http", "no lines"])  # fmt: skip
def test_a_server_that_does_not_speak_smtp_fails_the_step(tmp_path: Path, says: bytes) -> None:
    def talk(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            try:
                connection.sendall(says)
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=talk, args=(listener,), daemon=True)
        thread.start()
        url = f"smtp://127.0.0.1:{listener.getsockname()[1]}"
        found = asked(tmp_path, url, caught(STEP)).ask().json
        thread.join(30)
    assert found[0] in {"httpUnreachable", "httpFailed"}, found


def test_a_server_that_says_nothing_is_waited_for_as_long_as_the_step_says(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"smtp://127.0.0.1:{listener.getsockname()[1]}"
        found = asked(tmp_path, url, caught(STEP, "        timeout: 300ms\n")).ask().json
    assert found[0] in {"timeout", "httpTimeout"}


# ---- where it may go, and what it may say
@pytest.mark.parametrize("server", [
    "smtp://10.0.0.1:25", "smtp://169.254.169.254", "smtps://[::1]", "smtp://0.0.0.0:25",
])  # fmt: skip
def test_an_address_of_the_servers_own_network_is_not_connected_to(
    tmp_path: Path, server: str
) -> None:
    found = asked(tmp_path, server, caught(STEP)).ask().json
    assert (found[0], "address not allowed" in found[3]) == ("httpRefused", True)


@pytest.mark.parametrize("server", [
    "mail.example.com", "http://mail.example.com", "smtp://", "smtp://a:99999", "smtp://u@mail.b",
    "smtp://mail.example.com/path",
])  # fmt: skip
def test_a_server_that_is_no_address_is_a_mistake_of_the_settings(
    tmp_path: Path, server: str
) -> None:
    assert asked(tmp_path, f"'{server}'", caught(STEP)).ask().json[0] == "addon-config"


HOSTILE = [
    {"to": "a@b.co\r\nBcc: x@y.z"}, {"to": "a@b.co, x@y.z"}, {"to": "x <a@b.co>"}, {"to": "a"},
    {"to": ""}, {"to": []}, {"to": ["a@b.co", 7]}, {"to": "a@b.co\n"}, {"to": '"a b"@b.co'},
    {"to": "é@b.co"}, {"to": "a@b.co>\r\nDATA"}, {"to": "@b.co"}, {"to": "a@"},
    {"to": "a@b.co(x)"}, {"to": ["a@b.co"] * 2 + [f"{n}@b.co" for n in range(1_001)]},
    {"subject": "a\r\nBcc: x@y.z"}, {"subject": "a\nb"}, {"subject": "a\u2028b"},
    {"subject": "a\0b"}, {"text": "\ud800"},
]  # fmt: skip


def test_nothing_adds_a_header_or_a_recipient(
    tmp_path: Path, serving_mail: Callable[..., Server]
) -> None:
    there = serving_mail()
    step = (
        "smtpMail.sendEmail: { to: '${ input.to }', subject: '${ input.subject }',"
        " text: '${ input.text }' }"
    )
    function = "input: { to: json, subject: string, text: string }\n" + caught(step)
    whole = {"to": "a@b.co", "subject": "s", "text": "t"}
    for number, change in enumerate(HOSTILE):
        box = tmp_path / str(number)
        box.mkdir()
        try:
            reply = asked(box, there.url, function, ca=there.pem).ask(whole | change)
        except UnicodeEncodeError:  # a client could not even send it
            continue
        assert reply.status == 400 or reply.json != ["sent"], change
    assert there.handler.got == []
    text = whole | {"text": "a\r\n.\r\nMAIL FROM:<x@y.z>\r\n\r\nBcc: x@y.z"}
    box = tmp_path / "last"
    box.mkdir()
    assert asked(box, there.url, function, ca=there.pem).ask(text).json == ["sent"]
    (mail,) = there.mails()
    assert (mail["bcc"], there.handler.got[0].rcpt_tos) == (None, ["a@b.co"])
