"""revokeAuthToken: end a sign-in, or every one of a user."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.model import Model
from bbops.language.expressions.types import NULL, Type
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow


class RevokeAuthTokenParameters(Model):
    """`refreshToken` ends that sign-in, `userId` all of a user's."""

    refresh_token: ValueField | None = None
    user_id: ValueField | None = None


class RevokeAuthToken(Step):
    """End a sign-in: its refresh token is worth nothing from now on. Twice does no harm.

    - `refreshToken` ends that sign-in, `userId` all of a user's.
    - Access tokens that were given out live on until they expire.
    """

    title: ClassVar[str] = "Revoke Auth Token"
    writes: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Sign out",
            "- generateAuthToken: { userId: u1, refresh: true }\n"
            "  as: tokens\n"
            "- revokeAuthToken:\n    refreshToken: ${ vars.tokens.refreshToken }\n"
            "- refreshAuthToken:\n    refreshToken: ${ vars.tokens.refreshToken }",
            status=401,
            value={"error": {"code": "unauthorized", "message": "a valid token is needed"}},
        ),
    )

    revoke_auth_token: RevokeAuthTokenParameters

    def check(self, at: Checking) -> Type:
        given = self.revoke_auth_token
        if (given.refresh_token is None) == (given.user_id is None):
            at.report(
                None, "one-of", "expected either 'refreshToken' or 'userId', not both",
                "'refreshToken' ends one session, 'userId' all sessions of a user",
            )  # fmt: skip
        at.need(given.refresh_token, "text", "'refreshToken'", self.place("refreshToken"))
        at.need(given.user_id, "text integer", "'userId'", self.place("userId"))
        return NULL

    def code(self, flow: Flow) -> list[ast.stmt]:
        given = self.revoke_auth_token
        return flow.compute(
            self.as_,
            "await end(run, token, user)",
            end="bbops.runtime.steps.sign_ins:end_sign_in",
            token=flow.value(given.refresh_token),
            user=flow.value(given.user_id),
        )
