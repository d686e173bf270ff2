"""sms, in the shapes of Twilio's API of 2010-04-01: forms in, JSON out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlencode

from bbops.base.host import HttpResponse
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.outside import Refusal
from bbops.runtime.vendors._parts import basic, segment, text_at
from bbops.runtime.vendors._work import Work, read_answer

_ADDRESS: Final = "https://api.twilio.com"
_MOST_CHARACTERS: Final = 1_600
_NUMBER: Final = re.compile(r"\+[1-9]\d{1,14}").fullmatch
_SERVICE: Final = "MG"


async def send_sms(work: Work, given: Mapping[str, Any]) -> Any:
    """Send a short message; `queued` says that it is taken, not that it has arrived."""
    to, text, sender = given["to"], given["message"], work.setting("from")
    if len(text) > _MOST_CHARACTERS:
        raise FlowError(f"'message' must have at most {_MOST_CHARACTERS:,} characters")
    if not _NUMBER(to):
        raise FlowError("'to' must be a number with its country, such as +15550101")
    account = work.setting("accountSid")
    path = f"/2010-04-01/Accounts/{segment(account, 'accountSid')}/Messages.json"
    url = f"{work.address(_ADDRESS)}{path}"
    headers = {
        **_sign_in(work, account), "accept": "application/json",
        "content-type": "application/x-www-form-urlencoded",
    }  # fmt: skip
    by = "MessagingServiceSid" if sender.startswith(_SERVICE) else "From"
    form = urlencode({"To": to, by: sender, "Body": text}).encode()
    answer = await work.accept("POST", url, headers, form, refusal=_refusal)
    found = read_answer(url, answer)
    if isinstance(found, dict):
        found["dateCreated"] = _date(found.get("date_created"))
    return found


def _sign_in(work: Work, account: str) -> dict[str, str]:
    key = work.config.get("apiKeySid")
    if key:
        return basic(key, work.setting("apiKeySecret"))
    return basic(account, work.setting("authToken"))


def _date(text: Any) -> str | None:
    """Return a date of RFC 2822 as ISO 8601."""
    try:
        return parsedate_to_datetime(text).isoformat() if isinstance(text, str) else None
    except (TypeError, ValueError):
        return None


def _refusal(_: HttpResponse, found: Any) -> Refusal:
    code = found.get("code") if isinstance(found, dict) else None
    return Refusal(text_at(found, "message"), str(code) if isinstance(code, int) else None)


async def probe(work: Work) -> str:
    """Return what the account is called."""
    account = work.setting("accountSid")
    path = f"/2010-04-01/Accounts/{segment(account, 'accountSid')}.json"
    headers = {**_sign_in(work, account), "accept": "application/json"}
    found = await work.ask("GET", f"{work.address(_ADDRESS)}{path}", headers, refusal=_refusal)
    return text_at(found, "friendly_name") or ""


STEPS: Final = {"sendSms": send_sms}
PROBE: Final = probe
