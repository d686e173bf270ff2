"""smtpMail: a mail as RFC 5322 and MIME have it, given to a server over SMTP."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any, Final
from urllib.parse import urlsplit

from bbops.base.host import MailRequest
from bbops.runtime.values.failures import FlowError, HttpFailure
from bbops.runtime.vendors._parts import recipients
from bbops.runtime.vendors._work import AddonFailure, Work

PORTS: Final = {"smtp": 587, "smtps": 465}
_MOST_ATTACHED_BYTES: Final = 20_000_000
_MOST_ADDRESS: Final = 254
_WORD: Final = r"[a-z0-9][a-z0-9!#$&^_.+-]{0,60}"
_TYPE: Final = re.compile(f"{_WORD}/{_WORD}").fullmatch
_POLICY: Final = SMTP.clone(cte_type="7bit")


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    kind: str
    data: bytes


async def send_email(work: Work, given: Mapping[str, Any]) -> Any:
    """Send a mail."""
    _server(work)
    sender = _address(work.setting("senderEmail"), "senderEmail")
    name = _line(work.setting("senderName"), "senderName")
    people = recipients(given["to"], lambda text: _address(text, "to"))
    _line(given["subject"], "subject")
    files = [await _file(work, one) for one in given.get("attachments", [])]
    if sum(len(one.data) for one in files) > _MOST_ATTACHED_BYTES:
        raise FlowError(f"the attachments have more than {_MOST_ATTACHED_BYTES:,} bytes")
    identity = f"<{work.host.random.uuid()}@{sender.domain}>"
    sent_at = format_datetime(work.host.clock.now())
    groups = [[one] for one in people] if given.get("separately") else [people]

    def write() -> list[tuple[Sequence[str], bytes]]:
        made: list[tuple[Sequence[str], bytes]] = []
        for number, group in enumerate(groups):
            mail = EmailMessage(_POLICY)
            mail["From"] = Address(name, sender.username, sender.domain)
            mail["To"] = group
            mail["Subject"] = given["subject"]
            mail["Date"] = sent_at
            mail["Message-ID"] = identity if not number else identity.replace("@", f".{number}@")
            _fill(mail, given, files)
            made.append(([one.addr_spec for one in group], mail.as_bytes()))
        return made

    try:
        mails = await asyncio.to_thread(write)
    except (MessageError, ValueError, LookupError, UnicodeError):
        raise FlowError("the mail cannot be written") from None
    refused = await _send(work, sender.addr_spec, mails)
    return {"messageId": identity, "refused": list(refused)}


async def probe(work: Work) -> str:
    """Return as whom its server lets it in; no mail is sent."""
    await _send(work, _address(work.setting("senderEmail"), "senderEmail").addr_spec, [])
    return work.config.get("user") or ""


async def _send(
    work: Work, sender: str, mails: Sequence[tuple[Sequence[str], bytes]]
) -> Sequence[str]:
    host, port, is_tls = _server(work)
    if bool(work.config.get("user")) is not bool(work.config.get("password")):
        raise AddonFailure("addon-config", "'user' and 'password' go together")
    if work.host.http is None:
        raise HttpFailure("httpRefused", "outbound requests are not allowed here")
    request = MailRequest(
        host, port, is_tls, work.config.get("user"), work.config.get("password"),
        work.config.get("caCertificate"), sender, mails, work.terms.seconds,
    )  # fmt: skip
    try:
        return await work.host.http.send_mail(request)
    except HttpFailure as failure:
        failure.message = work.without_secrets(failure.message)
        failure.reason = work.without_secrets(failure.reason)
        failure.args = (failure.message,)
        raise


def _server(work: Work) -> tuple[str, int, bool]:
    try:
        parts = urlsplit(work.setting("server"))
        port = parts.port or PORTS[parts.scheme]
        is_plain = not (parts.path.strip("/") or parts.query or parts.username)
    except (ValueError, KeyError):
        parts, port, is_plain = urlsplit(""), 0, False
    if not parts.hostname or not is_plain:
        message = "'server' must be such as smtp://mail.example.com:587 or smtps://mail.example.com"
        raise AddonFailure("addon-config", message)
    return parts.hostname, port, parts.scheme == "smtps"


def _fill(mail: EmailMessage, given: Mapping[str, Any], files: Sequence[_File]) -> None:
    text, html = given.get("text"), given.get("html")
    if text is not None:
        mail.set_content(text)
        if html is not None:
            mail.add_alternative(html, subtype="html")
    else:
        mail.set_content(html, subtype="html")
    for one in files:
        major, _, minor = one.kind.partition("/")
        mail.add_attachment(one.data, maintype=major, subtype=minor, filename=one.name)


def _address(text: str, what: str) -> Address:
    """Return one plain address: not a name beside it, not a list, not a second line."""
    try:
        if not text.isascii() or not text.isprintable() or len(text) > _MOST_ADDRESS:
            raise ValueError  # noqa: TRY301 - as for one that cannot be parsed
        found = Address(addr_spec=text)
    except (ValueError, IndexError, MessageError):
        raise FlowError(f"'{what}' must be an address such as ada@example.com") from None
    if found.addr_spec != text or not found.domain or set(text) & set('"(),:;<>[\\] '):
        raise FlowError(f"'{what}' must be an address such as ada@example.com")
    return found


def _line(text: str, what: str) -> str:
    if any(ord(one) < 32 or one in "\x7f\x85\u2028\u2029" for one in text):
        raise FlowError(f"'{what}' must be one line")
    return text


async def _file(work: Work, one: Any) -> _File:
    """Return a file of the run as a part of a mail."""
    told = {"path": one} if isinstance(one, str) else one
    if not isinstance(told, dict) or not isinstance(told.get("path"), str):
        raise FlowError("an attachment is the path of a file, or a map with its 'path'")
    kind = str(told.get("contentType") or "application/octet-stream").lower()
    if not _TYPE(kind) or kind.startswith(("multipart/", "message/")):
        raise FlowError("'contentType' of an attachment must be such as application/pdf")
    name = _line(str(told.get("name") or told["path"]), "name")
    return _File(name, kind, await work.read(told["path"]))


STEPS: Final = {"sendEmail": send_email}
PROBE: Final = probe
