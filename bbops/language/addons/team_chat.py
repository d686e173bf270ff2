"""teamChat: messages to channels and members of a team chat."""

from __future__ import annotations

from pydantic import Field

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting, may, need
from bbops.language.expressions.types import BOOLEAN, TEXT, map_of

_MESSAGE = map_of({"ok": BOOLEAN, "channel": TEXT, "ts": TEXT}, "the message")

_MARKDOWN = "Markdown of the chat; `&`, `<` and `>` in text from expressions are escaped"


class Config(Model):
    """The token of a bot that is in the channels. `endpoint` is for a stand-in."""

    bot_token: Secret = Field(description="The token of a bot of Slack, `xoxb-…`.")
    endpoint: Setting | None = Field(
        default=None, description="The address of a stand-in for Slack, for tests."
    )


ADDON = AddonKind(
    "Team Chat",
    "Messages to channels and members of a team chat.",
    Config,
    {
        "sendMessage": AddonAction(
            "Send Message",
            "Write into a channel.",
            (
                need("channel", "text", "Its id or its name"),
                may("text", "text", _MARKDOWN, is_chat=True),
                may("blocks", "list"),
            ),
            _MESSAGE,
            "- teamChat.sendMessage: { channel: general, text: A new order came in }",
            one_of=("text", "blocks"),
        ),
        "sendDirectMessage": AddonAction(
            "Send Direct Message",
            "Write to one member.",
            (
                need("userId"),
                need("text", "text", _MARKDOWN, is_chat=True),
            ),
            _MESSAGE,
            "- teamChat.sendDirectMessage: { userId: U1, text: Your order is on its way }",
        ),
    },
    config_example="botToken: ${ env.TEAM_CHAT_TOKEN }",
    hosts=("slack.com",),
    scopes=("chat:write", "im:write", "chat:write.public"),
    service="Slack",
    key_source="https://api.slack.com/apps, under OAuth & Permissions",
)
