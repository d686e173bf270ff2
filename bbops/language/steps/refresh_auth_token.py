"""refreshAuthToken: let a sign-in go on, and replace its refresh token."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.model import Model
from bbops.language.expressions.types import TEXT, Type, map_of
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow


class RefreshAuthTokenParameters(Model):
    """The token that `generateAuthToken` with `refresh: true`, or this step, gave last."""

    refresh_token: ValueField


class RefreshAuthToken(Step):
    """Give {userId, refreshToken}; a bad token is 401, and a used one ends the sign-in.

    - Each refresh token is used once, and the next one comes with the answer. A second use within
      10 seconds, such as by a second tab, gets the same next one.
    - It gives no access token: read the user afresh, then use `generateAuthToken`.
    """

    title: ClassVar[str] = "Refresh Auth Token"
    writes: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Go on with a sign-in",
            "- generateAuthToken: { userId: u1, refresh: true }\n"
            "  as: first\n"
            "- refreshAuthToken:\n    refreshToken: ${ vars.first.refreshToken }\n"
            "  as: next\n"
            "- return:\n    value: ${ vars.next.userId }",
            value="u1",
        ),
        Example(
            "A token that nobody gave out",
            "- refreshAuthToken: { refreshToken: made-up }\n",
            status=401,
            value={"error": {"code": "unauthorized", "message": "a valid token is needed"}},
        ),
    )

    refresh_auth_token: RefreshAuthTokenParameters

    def check(self, at: Checking) -> Type:
        token = self.refresh_auth_token.refresh_token
        at.need(token, "text", "'refreshToken'", self.place("refreshToken"))
        at.need_signing_key()
        return map_of({"userId": at.user, "refreshToken": TEXT}, "the sign-in")

    def code(self, flow: Flow) -> list[ast.stmt]:
        return flow.compute(
            self.as_,
            "await renew(run, token)",
            renew="bbops.runtime.steps.sign_ins:renew_sign_in",
            token=flow.value(self.refresh_auth_token.refresh_token),
        )
