"""createApiKey: make a key for the channels with authentication: API Key."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.diagnostics import suggest
from bbops.base.model import Model
from bbops.language.expressions.types import TEXT, Type, map_of
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Static, Step, mark_of
from bbops.language.steps._flow import Flow


class CreateApiKeyParameters(Model):
    """`channels` left out: every channel that takes keys; `expiresIn` left out: until revoked."""

    channels: list[Static] | None = None
    name: ValueField
    claims: ValueField | None = None
    expires_in: ValueField | None = None


class CreateApiKey(Step):
    """Give {id, key}; the key is shown here and never again, its hash is kept.

    - It opens channels whose `authentication` is API Key: those in `channels`, or all of them.
    - Behind such a channel `vars.apiKey` holds its `id`, `name` and `claims`.
    """

    title: ClassVar[str] = "Create API Key"
    writes: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "A key for a machine",
            "- createApiKey: { name: printer, claims: { room: 7 } }\n"
            "  as: made\n"
            "- return:\n    value: ${ vars.made.key | startsWith('bk_') }",
            value=True,
        ),
    )

    create_api_key: CreateApiKeyParameters

    def check(self, at: Checking) -> Type:
        given = self.create_api_key
        at.need(given.name, "text", "'name'", self.place("name"))
        at.need(given.claims, "map", "'claims'", self.place("claims"), null=True)
        at.need(given.expires_in, "text", "'expiresIn'", self.place("expiresIn"), null=True)
        for channel in given.channels or ():
            self.check_channel(at, channel)
        return map_of({"id": TEXT, "key": TEXT}, "the key")

    def check_channel(self, at: Checking, name: Static) -> None:
        at.notes.reads.add(("channel", str(name)))
        found = at.channels.get(name)
        if found is None:
            if ("channels", name) not in at.broken:
                at.report(
                    mark_of(name), "unknown-channel", f"channel '{name}' does not exist",
                    suggest(name, at.channels) or f"make channels/{name}.yaml",
                )  # fmt: skip
        elif found != "API Key":
            at.report(
                mark_of(name), "no-keys", f"channel '{name}' does not take API keys",
                f"it has authentication: {found}; 'API Key' takes keys",
            )  # fmt: skip

    def code(self, flow: Flow) -> list[ast.stmt]:
        given = self.create_api_key
        names = None if given.channels is None else [str(channel) for channel in given.channels]
        listed: ast.expr = ast.Constant(None)
        if names is not None:
            listed = ast.List([ast.Constant(name) for name in names], ast.Load())
        return flow.compute(
            self.as_,
            "await make(run, name, channels, claims, expires)",
            make="bbops.runtime.steps.api_keys:make_api_key",
            name=flow.value(given.name),
            channels=listed,
            claims=flow.value(given.claims),
            expires=flow.value(given.expires_in),
        )
