"""chatWebhook: messages into one channel of a chat."""

from __future__ import annotations

from pydantic import Field

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting, may
from bbops.language.expressions.types import TEXT, map_of


class Config(Model):
    """The address is the right to write there, so it is a secret. `endpoint` is for a stand-in."""

    webhook_url: Secret = Field(
        description="The URL of a webhook of Discord, which may write into its channel."
    )
    endpoint: Setting | None = Field(
        default=None, description="The address of a stand-in for Discord, for tests."
    )


ADDON = AddonKind(
    "Chat Webhook",
    "Messages into one channel of a chat.",
    Config,
    {
        "sendMessage": AddonAction(
            "Send Message",
            "Write a message into the channel.",
            (
                may("content", "text", "Markdown, 2,000 characters at most"),
                may("username", "text", "Another name to show"),
                may("embeds", "list", "Embeds as maps; `color` is a decimal number"),
                may("webhookUrl", "text", "Another channel than that of the settings"),
                may("mentions", "boolean", "`@everyone` and `@name` in it call people"),
            ),
            map_of({"id": TEXT, "channel_id": TEXT}, "the message"),
            "- chatWebhook.sendMessage: { content: A new order came in }",
            one_of=("content", "embeds"),
        ),
    },
    config_example="webhookUrl: ${ env.CHAT_WEBHOOK_URL }",
    hosts=("discord.com",),
    service="Discord",
    key_source="the settings of the channel, under Integrations and Webhooks",
)
