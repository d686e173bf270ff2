"""revokeApiKey: end a key that `createApiKey` made."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.model import Model
from bbops.language.expressions.types import NULL, Type
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow


class RevokeApiKeyParameters(Model):
    """The `id` that came with the key."""

    id: ValueField


class RevokeApiKey(Step):
    """End a key: within five seconds it opens nothing any more. Twice does no harm.

    - The `id` is what `createApiKey` gave, and `vars.apiKey.id`.
    """

    title: ClassVar[str] = "Revoke API Key"
    writes: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "End a key",
            "- createApiKey: { name: printer }\n"
            "  as: made\n"
            "- revokeApiKey:\n    id: ${ vars.made.id }\n"
            "- return: { value: done }",
            value="done",
        ),
    )

    revoke_api_key: RevokeApiKeyParameters

    def check(self, at: Checking) -> Type:
        at.need(self.revoke_api_key.id, "text", "'id'", self.place("id"))
        return NULL

    def code(self, flow: Flow) -> list[ast.stmt]:
        return flow.compute(
            self.as_,
            "await end(run, id)",
            end="bbops.runtime.steps.api_keys:revoke_api_key",
            id=flow.value(self.revoke_api_key.id),
        )
