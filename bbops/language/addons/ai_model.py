"""aiModel: chat, embeddings and pictures of AI models."""

from __future__ import annotations

from pydantic import Field

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting, may, need
from bbops.language.expressions.types import ANY, INTEGER, TEXT, map_of


class Config(Model):
    """The key of the account that pays. `endpoint` is for a server with the same protocol.

    An `endpoint` without a path, such as https://models.example.com, gets `/v1`; one with a path is
    used as it is.
    """

    api_key: Secret = Field(description="An API key of OpenAI, or of the server at `endpoint`.")
    endpoint: Setting | None = Field(
        default=None,
        description="The address of a server with the API of OpenAI, with or without `/v1`.",
    )


MODEL_SECONDS = 120.0
"""Models answer slowly: their own libraries wait for 600 s."""

ADDON = AddonKind(
    "AI Model",
    "Chat, embeddings and pictures of AI models.",
    Config,
    {
        "chatCompletion": AddonAction(
            "Chat Completion",
            "Give the model a conversation; its answer is at `choices[0].message.content`.",
            (
                need("model"),
                need("messages", "list", "Maps of `role` and `content`"),
                may("options", "map", "Other parameters of the vendor's, by its names"),
            ),
            map_of(
                {"id": TEXT, "model": TEXT, "created": INTEGER, "choices": ANY, "usage": ANY},
                "the completion",
            ),
            "- aiModel.chatCompletion:\n"
            "    model: gpt-large\n"
            "    messages:\n"
            "      - { role: user, content: Say hello }\n"
            "  as: completion\n"
            "- return:\n"
            "    value: ${ vars.completion.choices[0].message.content }",
            repeat="safe",
            seconds=MODEL_SECONDS,
            streams=True,
            writes=False,
        ),
        "createEmbedding": AddonAction(
            "Create Embedding",
            "Turn text into numbers; they are at `data[0].embedding`.",
            (
                need("model"),
                need("input", "text list", "A text, or a list of them"),
                may("options", "map", "Other parameters of the vendor's, by its names"),
            ),
            map_of({"model": TEXT, "data": ANY, "usage": ANY}, "the embedding"),
            "- aiModel.createEmbedding: { model: embed-small, input: Hello }\n"
            "  as: embedded\n"
            "- return:\n"
            "    value: ${ vars.embedded.data[0].embedding }",
            repeat="safe",
            seconds=MODEL_SECONDS,
            writes=False,
        ),
        "generateImage": AddonAction(
            "Generate Image",
            "Draw a picture: at `data[0].b64_json`, or with `outputPath` a file of the run.",
            (
                need("model"),
                need("prompt"),
                may("size", "text", "Such as 1024x1024"),
                may(
                    "outputPath",
                    "text",
                    "A file of this run; gives `path` and `size`",
                    is_file=True,
                ),
                may("options", "map", "Other parameters of the vendor's, by its names"),
            ),
            map_of(
                {
                    "created": INTEGER,
                    "data": ANY,
                    "path": TEXT.or_null(),
                    "size": INTEGER.or_null(),
                },
                "the picture",
            ),
            "- aiModel.generateImage:\n"
            "    { model: image-large, prompt: A cat, size: 1024x1024, outputPath: cat.png }\n"
            "  as: picture\n"
            "- return:\n"
            "    value: ${ vars.picture.size }",
            repeat="safe",
            seconds=MODEL_SECONDS,
            most_bytes=40_000_000,
            writes=False,
        ),
    },
    config_example="apiKey: ${ env.AI_API_KEY }",
    hosts=("api.openai.com",),
    service="OpenAI",
    key_source="https://platform.openai.com/api-keys",
)
