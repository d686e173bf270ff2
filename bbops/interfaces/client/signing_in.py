"""What is asked to sign in, and about oneself."""

from __future__ import annotations

from bbops.interfaces.answers import Login, LoginOutcome, Oneself
from bbops.interfaces.client.connection import Connection


class SigningIn(Connection):
    """Who is signed in at a server."""

    def whoami(self) -> Oneself:
        """Return whom the server takes you for.

        Raises:
            ServerError: also when that is nobody.
        """
        return self._read(self._ask("GET", "/api/whoami"), Oneself)

    def begin_login(self, client: str, scopes: list[str]) -> Login:
        """Begin a sign-in that somebody approves in a browser; `client` names this machine."""
        body = {"client": client, "scopes": scopes}
        return self._read(self._ask("POST", "/api/login", body), Login)

    def poll_login(self, device: str) -> LoginOutcome:
        """Return how it is with a sign-in; its token is told once."""
        return self._read(self._ask("POST", "/api/login/poll", {"device": device}), LoginOutcome)

    def logout(self) -> None:
        """Have the server revoke the token that this asks with."""
        self._demand(self._ask("POST", "/api/logout"))
