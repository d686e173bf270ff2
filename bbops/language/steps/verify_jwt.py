"""verifyJwt: check a token inside a function, for mixed or secondary tokens."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.model import Model
from bbops.language.expressions.types import ANY, TEXT, Type, map_of
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow


def claims_of(user: Type) -> Type:
    """Return the type of a token's claims, by the type of its user's id."""
    fields = {"userId": user, "email": TEXT.or_null(), "role": TEXT.or_null(), "claims": ANY}
    return map_of(fields, "the token")


CLAIMS = claims_of(TEXT)


class VerifyJwtParameters(Model):
    """`token` defaults to the request's, by header or cookie, `secret` to the project's keys."""

    token: ValueField | None = None
    secret: ValueField | None = None
    optional: bool = False


class VerifyJwt(Step):
    """Give the claims of a token, as in `vars.auth`; a bad token ends the request with 401.

    - Endpoints with `authentication: JWT` do this already; the step is for tokens of other issuers,
      and for routes that a guest may also use (`optional: true` gives null without a token).
    """

    title: ClassVar[str] = "Verify JWT"
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "A visitor without a token",
            "- verifyJwt: { optional: true }\n"
            "  as: user\n"
            "- return:\n    value: ${ vars.user?.userId | default('nobody') }",
            value="nobody",
        ),
    )

    verify_jwt: VerifyJwtParameters

    def check(self, at: Checking) -> Type:
        given = self.verify_jwt
        at.need(given.token, "text", "'token'", self.place("token"), null=True)
        at.need(given.secret, "text", "'secret'", self.place("secret"))
        found = CLAIMS if given.secret is not None else claims_of(at.user)
        return found.or_null() if given.optional else found

    def code(self, flow: Flow) -> list[ast.stmt]:
        given = self.verify_jwt
        return flow.compute(
            self.as_,
            "await verify_token(run, token, secret, optional)",
            verify_token="bbops.runtime.flow.run:verify_token",  # noqa: S106 - a target
            token=flow.value(given.token) if given.token else flow.root("credential"),
            secret=flow.value(given.secret),
            optional=ast.Constant(given.optional),
        )
