"""aiModel: chat, embeddings and pictures of AI models."""

from __future__ import annotations

from bbops.base.model import Model
from bbops.language.addons._base import Action, AddonKind, Secret, may, need
from bbops.language.expressions.types import ANY, INTEGER, TEXT, map_of


class Config(Model):
    """The key of the account that pays."""

    api_key: Secret


ADDON = AddonKind(
    "AI Model",
    "Chat, embeddings and pictures of AI models.",
    Config,
    {
        "chatCompletion": Action(
            "Chat Completion",
            "Give the model a conversation; its answer is at `choices[0].message.content`.",
            (
                need("model"),
                need("messages", "list", "Maps of `role` and `content`"),
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
        ),
        "createEmbedding": Action(
            "Create Embedding",
            "Turn text into numbers; they are at `data[0].embedding`.",
            (
                need("model"),
                need("input", "text list", "A text, or a list of them"),
            ),
            map_of({"model": TEXT, "data": ANY, "usage": ANY}, "the embedding"),
            "- aiModel.createEmbedding: { model: embed-small, input: Hello }\n"
            "  as: embedded\n"
            "- return:\n"
            "    value: ${ vars.embedded.data[0].embedding }",
        ),
        "generateImage": Action(
            "Generate Image",
            "Draw a picture; it is at `data[0]`.",
            (
                need("model"),
                need("prompt"),
                may("size", "text", "Such as 1024x1024"),
            ),
            map_of({"created": INTEGER, "data": ANY}, "the picture"),
            "- aiModel.generateImage: { model: image-large, prompt: A cat, size: 1024x1024 }\n"
            "  as: picture\n"
            "- return:\n"
            "    value: ${ vars.picture.data[0].url }",
        ),
    },
    config_example="apiKey: ${ env.AI_API_KEY }",
)
