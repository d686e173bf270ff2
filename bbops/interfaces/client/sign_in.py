"""Requests to sign in and out, and to exchange the identity token of a workflow."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

from bbops.base.errors import ServerError
from bbops.interfaces.answers import (
    LoginOutcome,
    PendingLogin,
    SignedInUser,
    WorkflowToken,
    error_text,
)
from bbops.interfaces.client.connection import ServerConnection, require_https


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


# ---- workflows

_REFUSED: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{1,200}").fullmatch
_AUDIENCE: Final = "the claim 'aud'"
_ADDRESS_HINT: Final = "use the address in 'urls.control' of server.yaml, letter by letter"


class WorkflowRequests(ServerConnection):
    """Requests of the runs of workflows."""

    def exchange_identity(self, token: str, project: str = "") -> WorkflowToken:
        """Return a token for the run that an identity token is about.

        Args:
            token: the identity token, whose audience is the address of this server.
            project: the name of a project, if several trust the workflow.

        Raises:
            ServerError: also when no project of the server trusts the workflow, or the token would
                be sent without https.
        """
        require_https(self._url)
        body = {"token": token, "project": project}
        response = self._request("POST", "/api/ci/token", body)
        reason = error_text(response.content)
        if response.status_code in _REFUSED and reason:
            message = f"the server at '{self._url}' does not accept this workflow: {reason}"
            raise ServerError(message, hint=_find_hint(reason, project))
        issued = self._read(response, WorkflowToken)
        if not _TOKEN(issued.token):  # jobs print it in a command that hides it in their log
            raise ServerError(f"the server at '{self._url}' did not answer with a token")
        return issued


def _find_hint(reason: str, project: str) -> str:
    if reason.startswith(_AUDIENCE):
        return _ADDRESS_HINT
    name = f"project '{project}'" if project else "the project"
    return f"compare it with 'ci' of {name} in server.yaml; the server's log has details"
