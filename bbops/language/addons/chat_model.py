"""chatModel: messages to a chat model and its answers."""

from __future__ import annotations

from pydantic import Field

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting, may, need
from bbops.language.expressions.types import ANY, INTEGER, TEXT, map_of


class Config(Model):
    """The key of the account that pays. `endpoint` is for a server with the same protocol."""

    api_key: Secret = Field(description="An API key of Anthropic, or of the server at `endpoint`.")
    endpoint: Setting | None = Field(
        default=None, description="The address of a server with the API of Anthropic."
    )


MODEL_SECONDS = 120.0
"""Models answer slowly: their own libraries wait for 600 s."""

ADDON = AddonKind(
    "Chat Model",
    "Messages to a chat model.",
    Config,
    {
        "createMessage": AddonAction(
            "Create Message",
            "Give the model a conversation, and get its next message.",
            (
                need("model", "text", "The model's name"),
                need("messages", "list", "Maps of `role` (user, assistant) and `content`"),
                may("system", "text", "Instructions that stand above the conversation"),
                may(
                    "maxTokens",
                    "integer",
                    "Tokens of the answer at most, 1024 if left out",
                    limits=(1, 1_000_000),
                ),
                may("temperature", "number", "From 0 to 1; newer models refuse it", limits=(0, 1)),
                may("options", "map", "Other parameters of the vendor's, by its names"),
            ),
            map_of(
                {
                    "id": TEXT,
                    "type": TEXT,
                    "role": TEXT,
                    "content": ANY,
                    "model": TEXT,
                    "stop_reason": TEXT.or_null(),
                    "usage": map_of(
                        {
                            "input_tokens": INTEGER,
                            "output_tokens": INTEGER,
                            "cache_creation_input_tokens": INTEGER.or_absent(),
                            "cache_read_input_tokens": INTEGER.or_absent(),
                        }
                    ),
                },
                "the message",
            ),
            "- chatModel.createMessage:\n"
            "    model: claude-large\n"
            "    messages:\n"
            "      - { role: user, content: Say hello }\n"
            "    maxTokens: 100\n"
            "  as: message\n"
            "- return:\n"
            "    value: ${ vars.message.content[0].text }",
            repeat="safe",
            seconds=MODEL_SECONDS,
            streams=True,
            writes=False,
        ),
    },
    config_example="apiKey: ${ env.CHAT_API_KEY }",
    hosts=("api.anthropic.com",),
    scopes=("a workspace's key with a spend limit",),
    service="Anthropic",
    key_source="https://console.anthropic.com/settings/keys",
)
