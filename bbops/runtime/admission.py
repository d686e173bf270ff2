"""Who may ask: what a request has to show before the functions of its endpoint run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bbops.runtime.answering import Answering
from bbops.runtime.api_keys import given_key
from bbops.runtime.failures import Thrown
from bbops.runtime.flow import Run
from bbops.runtime.limits import Limit, Told


class Admission:
    """What one endpoint asks of a request; made once per release."""

    __slots__ = ("answering", "authentication", "channel", "limit", "told")

    def __init__(
        self, authentication: str, limit: Limit | None, channel: str, answering: Answering
    ) -> None:
        """Take what the endpoint and its channel say."""
        self.authentication, self.limit, self.channel = authentication, limit, channel
        self.answering = answering
        self.told = Told(channel, limit.per_minute if limit else 0)

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to ask."""
        return self.limit is not None or self.authentication != "None"

    @property
    def needs_key(self) -> bool:
        """Whether `admit_key` has to be asked, too."""
        return self.authentication == "API Key"

    def admit(self, run: Run, scope: Any) -> None:
        """Count the request against its channel's limit, and require its user.

        Raises:
            Thrown: 429 beyond the limit; 401 without a valid token.
        """
        claims = self.authenticate(scope) if self.authentication == "JWT" else None
        if self.limit is not None:
            check_limit(self.limit, self.told, claims, scope)
        if self.authentication != "JWT":
            return
        if claims is None:
            raise Thrown(401)
        run.auth, scope["bbops"].user = claims, claims["userId"]

    async def admit_key(self, run: Run, scope: Any) -> None:
        """Require a key that opens this channel.

        Raises:
            Thrown: 401 without one.
        """
        given = given_key(scope)
        key = await self.answering.api_keys.verify(given, self.channel) if given else None
        if key is None:
            raise Thrown(401, "a valid API key is needed")
        run.api_key, scope["bbops"].user = key, f"key:{key['id']}"

    def authenticate(self, scope: Any) -> dict[str, Any] | None:
        """Return the signed-in user, None without a valid token.

        Of several `authorization` headers the first one counts.
        """
        tokens = self.answering.tokens
        if tokens is None:
            return None
        for name, value in scope["headers"]:
            if name == b"authorization":
                if value[:7].lower() != b"bearer ":
                    return None
                return tokens.verify(value[7:].strip().decode("latin-1"))
        return None


def check_limit(
    limit: Limit, told: Told, claims: Mapping[str, Any] | None, scope: Any
) -> None:  # fmt: skip
    """Count a request against its channel: by user where one signed in, else by address.

    Its answer tells what is left.

    Raises:
        Thrown: 429 with `retry-after`.
    """
    client, trace = scope.get("client"), scope["bbops"]
    key = f"user:{claims['userId']}" if claims else f"ip:{client[0] if client else ''}"
    left, seconds = limit.take(key)
    if left < 0:
        wait = limit.retry_after_seconds(key)
        trace.lines += told.lines(0, wait)
        raise Thrown(429, f"try again in {wait} s", headers={"retry-after": str(wait)})
    trace.lines += told.lines(left, seconds)
