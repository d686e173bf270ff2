"""Requests to sign in and out."""

from __future__ import annotations

from bbops.interfaces.answers import LoginOutcome, PendingLogin, SignedInUser
from bbops.interfaces.client.connection import ServerConnection


class SignInRequests(ServerConnection):
    """Requests about the user's session."""

    def whoami(self) -> SignedInUser:
        """Return the signed-in user.

        Raises:
            ServerError: also when no user is signed in.
        """
        return self._read(self._request("GET", "/api/whoami"), SignedInUser)

    def begin_login(self, client: str, scopes: list[str]) -> PendingLogin:
        """Begin a sign-in that the user approves in a browser; `client` names this machine."""
        body = {"client": client, "scopes": scopes}
        return self._read(self._request("POST", "/api/login", body), PendingLogin)

    def poll_login(self, device: str) -> LoginOutcome:
        """Return the status of a sign-in; the token is returned once."""
        return self._read(
            self._request("POST", "/api/login/poll", {"device": device}), LoginOutcome
        )

    def logout(self) -> None:
        """Revoke the token of this client."""
        self._require_success(self._request("POST", "/api/logout"))
