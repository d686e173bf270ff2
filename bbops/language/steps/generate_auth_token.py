"""generateAuthToken: sign a session token for a user."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from bbops.base.model import Model
from bbops.language.expressions import nodes as s
from bbops.language.expressions.types import TEXT, Type, map_of
from bbops.language.expressions.values import Expression, ListValue, MapValue, Value, ValueField
from bbops.language.steps._base import Checking, Example, Step, mark_of
from bbops.language.steps._flow import Flow
from bbops.runtime.auth.tokens import MAX_BYTES


class GenerateAuthTokenParameters(Model):
    """The user of the token; `expiresIn` overrides the project's.

    With `refresh` a sign-in begins that lasts: the result is {token, refreshToken}.
    """

    user_id: ValueField
    email: ValueField | None = None
    role: ValueField | None = None
    claims: ValueField | None = None
    expires_in: ValueField | None = None
    refresh: bool = False


class GenerateAuthToken(Step):
    """Give a JWT signed with the project's `auth.signingKey`.

    - Endpoints with `authentication: JWT` take it in `Authorization: Bearer …`, and `vars.auth`
      holds what stands in it.
    - With `refresh: true` it gives `{token, refreshToken}`, and begins a sign-in that
      `refreshAuthToken` goes on with and `revokeAuthToken` ends.
    """

    title: ClassVar[str] = "Generate Auth Token"
    writes: ClassVar[bool] = True
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Sign and read back",
            "- generateAuthToken: { userId: u1, role: admin }\n"
            "  as: token\n"
            "- verifyJwt:\n    token: ${ vars.token }\n"
            "  as: user\n"
            "- return:\n    value: ${ vars.user.role }",
            value="admin",
        ),
    )

    generate_auth_token: GenerateAuthTokenParameters

    def check(self, at: Checking) -> Type:
        given = self.generate_auth_token
        at.need(given.user_id, "text integer", "'userId'", self.place("userId"))
        at.need(given.expires_in, "text", "'expiresIn'", self.place("expiresIn"), null=True)
        for name, kind in (("email", "text"), ("role", "text"), ("claims", "map")):
            value: Value | None = getattr(given, name)
            if value is not None:
                found = at.public(value, "a token")
                at.fit(value, found, kind, f"'{name}'", self.place(name), null=True)
                for column in _unbounded(at, value):
                    at.report(
                        mark_of(value) or self.place(name), "long-claim",
                        f"a token can hold {MAX_BYTES:,} bytes, and column '{column}' may hold"
                        " more", f"give '{column}' a 'maxLength'",
                    )  # fmt: skip
        at.need_signing_key()
        return map_of({"token": TEXT, "refreshToken": TEXT}, "tokens") if given.refresh else TEXT

    def code(self, flow: Flow) -> list[ast.stmt]:
        given = self.generate_auth_token
        issue = "issue(run, user, email, role, claims, expires)"
        return flow.compute(
            self.as_,
            f"await {issue}" if given.refresh else issue,
            issue="bbops.runtime.steps.sign_ins:begin_sign_in"
            if given.refresh
            else "bbops.runtime.flow.run:issue_token",
            user=flow.value(given.user_id),
            email=flow.value(given.email),
            role=flow.value(given.role),
            claims=flow.value(given.claims),
            expires=flow.value(given.expires_in),
        )


def _unbounded(at: Checking, value: Value) -> Iterator[str]:
    """Yield the columns of a claim whose text may be longer than a token."""
    match value:
        case Expression(node=s.Member(of=of, name=name)):
            what = at.scope.type_of(of).what if id(of) in at.scope.types else ""
            table = at.tables.get(what.removeprefix("table '").removesuffix("'"))
            column = table.columns.get(name) if table is not None else None
            if table is not None and column is not None and column.longest is not None:
                yield f"{table.name}.{name}"
        case MapValue(items=items):
            for _, item in items:
                yield from _unbounded(at, item)
        case ListValue(items=members):
            for member in members:
                yield from _unbounded(at, member)
