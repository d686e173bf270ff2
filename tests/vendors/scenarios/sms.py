"""sms, held against Twilio's library."""

from __future__ import annotations

from typing import Any

from tests.vendors.scenario import CANARY, Scenario, Vendor
from tests.vendors.stand_in import Answer

ACCOUNT = "AC" + "0" * 32
MESSAGE = {"sid": "SM1", "status": "queued", "to": "+15551234567", "from": "+15557654321",
           "body": "hi ü&="}  # fmt: skip


def send(url: str, **sender: str) -> object:
    from twilio.http.http_client import TwilioHttpClient  # noqa: PLC0415 - of the extra 'vendors'
    from twilio.rest import Client  # noqa: PLC0415

    class Here(TwilioHttpClient):
        def request(self, method: str, uri: str, *args: Any, **more: Any) -> Any:
            return super().request(
                method, uri.replace("https://api.twilio.com", url), *args, **more
            )

    client = Client(ACCOUNT, CANARY, http_client=Here(pool_connections=False))
    return client.messages.create(to="+15551234567", body="hi ü&=", **sender)


VENDOR = Vendor(
    "sms",
    f"accountSid: {ACCOUNT}\nauthToken: ${{ env.SMS_TOKEN }}\nfrom: '+15557654321'\nendpoint: URL",
    {"SMS_TOKEN": CANARY},
    (
        Scenario(
            "sms.sendSms: { to: '+15551234567', message: 'hi ü&=' }",
            lambda url: send(url, from_="+15557654321"),
            Answer(201, MESSAGE | {"date_created": "Fri, 02 Jan 2026 03:04:05 +0000"}),
            MESSAGE | {"dateCreated": "2026-01-02T03:04:05+00:00"},
        ),
    ),
    headers=("authorization",),
    refusal={"code": 21610, "message": "Unsubscribed.", "status": 400},
    words="Unsubscribed.",
    reason="21610",
)
