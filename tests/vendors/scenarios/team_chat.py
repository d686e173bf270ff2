"""teamChat, held against Slack's library."""

from __future__ import annotations

from typing import Any

from tests.vendors.scenario import CANARY, Scenario, Vendor
from tests.vendors.stand_in import Answer


def client(url: str) -> Any:
    from slack_sdk import WebClient  # noqa: PLC0415 - of the extra 'vendors'

    return WebClient(CANARY, base_url=f"{url}/api/")


def direct(url: str) -> None:
    channel = client(url).conversations_open(users="U1")["channel"]["id"]
    client(url).chat_postMessage(channel=channel, text="ü")


MESSAGE = {"ok": True, "channel": "C1", "ts": "1.2"}
OPENED = Answer(body={"ok": True, "channel": {"id": "D1"}})

VENDOR = Vendor(
    "teamChat",
    "botToken: ${ env.CHAT_TOKEN }\nendpoint: URL",
    {"CHAT_TOKEN": CANARY},
    (
        Scenario(
            "teamChat.sendMessage: { channel: C1, text: ü, blocks: [{ type: divider }] }",
            lambda url: client(url).chat_postMessage(
                channel="C1", text="ü", blocks=[{"type": "divider"}]
            ),
            Answer(body=MESSAGE), MESSAGE,
        ),
        Scenario(
            "teamChat.sendDirectMessage: { userId: U1, text: ü }", direct,
            (OPENED, Answer(body=MESSAGE | {"channel": "D1"})),
            MESSAGE | {"channel": "D1"},
            {
                "type": "the library sends a form, and the vendor takes both",
                "body": "same values in a form",
            },
        ),
    ),
    headers=("authorization",),
    refusal={"ok": False, "error": "not_in_channel"},
    words="not_in_channel",
    reason="not_in_channel",
    status=200,
    means=403,
)  # fmt: skip
