"""chatWebhook, held against discord.py."""

from __future__ import annotations

import warnings
from contextlib import suppress

from tests.vendors.scenario import CANARY, Scenario, Vendor
from tests.vendors.stand_in import Answer

ID = 123456789012345678


def send(url: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it imports 'audioop', which Python drops
        import discord  # noqa: PLC0415 - of the extra 'vendors'
    import requests  # noqa: PLC0415
    from discord.webhook import async_  # noqa: PLC0415

    async_.Route.BASE = f"{url}/api/v10"
    with requests.Session() as session, suppress(KeyError):  # it wants more of the answer
        hook = discord.SyncWebhook.partial(ID, CANARY, session=session)
        hook.send(
            "hi", username="u", embeds=[discord.Embed(title="t", color=16711680)],
            allowed_mentions=discord.AllowedMentions.none(), wait=True,
        )  # fmt: skip


VENDOR = Vendor(
    "chatWebhook",
    "webhookUrl: ${ env.HOOK }\nendpoint: URL/api/v10",
    {"HOOK": f"https://discord.com/api/webhooks/{ID}/{CANARY}"},
    (
        Scenario(
            "chatWebhook.sendMessage:"
            " { content: hi, username: u, embeds: [{ title: t, color: 16711680 }] }",
            send,
            Answer(body={"id": "1", "channel_id": "2"}), {"id": "1", "channel_id": "2"},
            {
                "query": "the library sends wait=1 and the default with_components=0",
                "body": "the library sends the defaults of flags, tts and type",
            },
        ),
    ),
    headers=(),
    refusal={"code": 50035, "message": "Invalid Form Body"},
    words="Invalid Form Body",
    reason="50035",
)  # fmt: skip
