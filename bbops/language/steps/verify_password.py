"""verifyPassword: compare a password with its hash, off the event loop."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.model import Model
from bbops.language.expressions.types import BOOLEAN, Type
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow


class VerifyPasswordParameters(Model):
    """A hash of null is never right, and takes the same time."""

    password: ValueField
    hash: ValueField


class VerifyPassword(Step):
    """Give true or false.

    - A `hash` of null is false, in the same time: so a client does not learn which accounts exist.
    """

    title: ClassVar[str] = "Verify Password"
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Nobody by that name",
            "- verifyPassword: { password: guess, hash: null }\n"
            "  as: ok\n"
            "- return:\n    value: ${ vars.ok }",
            value=False,
        ),
    )

    verify_password: VerifyPasswordParameters

    def check(self, at: Checking) -> Type:
        given = self.verify_password
        at.need(given.password, "text", "'password'", self.place("password"))
        at.need(given.hash, "text", "'hash'", self.place("hash"), null=True)
        return BOOLEAN

    def code(self, flow: Flow) -> list[ast.stmt]:
        return flow.compute(
            self.as_,
            "await verify_password(password, hashed)",
            verify_password="bbops.runtime.auth.passwords:verify_password",  # noqa: S106
            password=flow.value(self.verify_password.password),
            hashed=flow.value(self.verify_password.hash),
        )
