"""email, in the shapes of SendGrid's API v3."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

from bbops.base.host import HttpResponse
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.outside import Refusal
from bbops.runtime.vendors._parts import bearer, pick, recipients, text_at
from bbops.runtime.vendors._work import AddonFailure, Work, read_answer, write_json

_ADDRESS: Final = "https://api.sendgrid.com"
_MOST_ATTACHED_BYTES: Final = 20_000_000
_UNVERIFIED: Final = "verified Sender"


async def send_email(work: Work, given: Mapping[str, Any]) -> Any:
    """Send a mail."""
    parts = (("text", "text/plain"), ("html", "text/html"))  # plain text first, or it is refused
    content = [{"type": kind, "value": given[name]} for name, kind in parts if given.get(name)]
    attached = [await _attachment(work, one) for one in given.get("attachments", [])]
    if sum(len(one["content"]) for one in attached) * 3 // 4 > _MOST_ATTACHED_BYTES:
        raise FlowError(f"the attachments have more than {_MOST_ATTACHED_BYTES:,} bytes")
    more = {"subject": _line(given["subject"], "subject"), "content": content}
    return await _send(work, given, more | ({"attachments": attached} if attached else {}), {})


async def send_template_email(work: Work, given: Mapping[str, Any]) -> Any:
    """Send a mail that the service fills in."""
    template = given["templateId"]
    if not template.startswith("d-"):
        raise FlowError("'templateId' must begin with 'd-'")
    data = pick(given, dynamicData="dynamic_template_data")
    return await _send(work, given, {"template_id": template}, data)


async def _send(
    work: Work, given: Mapping[str, Any], more: Mapping[str, Any], each: Mapping[str, Any]
) -> Any:
    people = recipients(given["to"], lambda text: {"email": _line(text, "to")})
    groups = [[one] for one in people] if given.get("separately") else [people]
    sender = {"email": work.setting("senderEmail"), "name": work.setting("senderName")}
    body = {"from": sender, "personalizations": [{"to": one, **each} for one in groups], **more}
    headers = {
        **bearer(work.setting("apiKey")), "accept": "application/json",
        "content-type": "application/json",
    }  # fmt: skip
    url = f"{work.address(_ADDRESS)}/v3/mail/send"
    answer = await work.accept("POST", url, headers, write_json(body), refusal=_refusal)
    read_answer(url, answer)  # a page of a proxy has sent nothing
    return {"messageId": answer.headers.get("x-message-id")}


def _line(text: str, what: str) -> str:
    if any(ord(one) < 32 for one in text):
        raise FlowError(f"'{what}' must be one line")
    return text


async def _attachment(work: Work, one: Any) -> dict[str, str]:
    """Return a file of the run as the service takes it."""
    told = {"path": one} if isinstance(one, str) else one
    if not isinstance(told, dict) or not isinstance(told.get("path"), str):
        raise FlowError("an attachment is the path of a file, or a map with its 'path'")
    data = await work.read(told["path"])
    kind = told.get("contentType")
    return {
        "content": b64encode(data).decode(), "filename": str(told.get("name") or told["path"]),
        **({"type": str(kind)} if kind else {}),
    }  # fmt: skip


def _refusal(answer: HttpResponse, found: Any) -> Refusal:
    said = text_at(found, "errors", 0, "message")
    if answer.status == 403 and said and _UNVERIFIED in said:
        return Refusal(said, "senderNotVerified")
    return Refusal(said, text_at(found, "errors", 0, "field"))


async def probe(work: Work) -> str:
    """Ask what the key may do; it needs `mail.send`."""
    url = f"{work.address(_ADDRESS)}/v3/scopes"
    headers = bearer(work.setting("apiKey")) | {"accept": "application/json"}
    found = await work.ask("GET", url, headers, refusal=_refusal)
    scopes = found.get("scopes") if isinstance(found, dict) else None
    if isinstance(scopes, list) and "mail.send" not in scopes:
        raise AddonFailure("addon-lacks", "the key lacks the scope mail.send")
    return ""


STEPS: Final = {"sendEmail": send_email, "sendTemplateEmail": send_template_email}
PROBE: Final = probe
