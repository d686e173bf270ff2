"""hashPassword: turn a password into a bcrypt hash, off the event loop."""

from __future__ import annotations

import ast
from typing import Annotated, ClassVar

from pydantic import Field

from bbops.base.model import Model
from bbops.language.expressions.types import TEXT, Type
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow


class HashPasswordParameters(Model):
    """`rounds`: the cost; each one more doubles the time (12 takes about 0.2 s)."""

    password: ValueField
    rounds: Annotated[int, Field(ge=4, le=15)] = 12


class HashPassword(Step):
    """Hash a password; over 72 bytes it is hashed with SHA-256 first, never cut.

    - It takes about 0.2 s, in a thread, so other requests go on.
    - Keep the hash in a column with `private: true`.
    """

    title: ClassVar[str] = "Hash Password"
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Hash and verify",
            "- hashPassword: { password: correct horse, rounds: 4 }\n"
            "  as: hash\n"
            "- return:\n    value: ${ vars.hash | length }",
            value=60,
        ),
    )

    hash_password: HashPasswordParameters

    def check(self, at: Checking) -> Type:
        at.need(self.hash_password.password, "text", "'password'", self.place("password"))
        return TEXT

    def code(self, flow: Flow) -> list[ast.stmt]:
        return flow.compute(
            self.as_,
            "await hash_password(password, rounds)",
            hash_password="bbops.runtime.auth.passwords:hash_password",  # noqa: S106 - a target
            password=flow.value(self.hash_password.password),
            rounds=ast.Constant(self.hash_password.rounds),
        )
