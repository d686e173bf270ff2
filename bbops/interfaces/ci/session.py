"""A job's access to a server: a token of its own, renewed when it ends, and retried requests."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from bbops.base.errors import BbopsError, ServerAway, TokenRejected, WaitTimeout
from bbops.interfaces.ci.identity import can_renew, read_identity
from bbops.interfaces.ci.run import CiRun
from bbops.interfaces.client import Remote

T = TypeVar("T")

POLL_SECONDS: Final = 0.5
_MIN_SECONDS: Final = 1.0
_LONGEST_PAUSE: Final = 10.0
_RENEWAL_HINT: Final = "put a new token of this server into the variable BBOPS_TOKEN"


@dataclass(slots=True)
class JobSession:
    """Requests of one job to a server, until a time.

    Attributes:
        url: the address of the control plane, also the audience of identity tokens.
        token: a token of the server; empty to exchange the job's identity token for one.
        project: the project; empty for the only one.
        hide: prints a command that hides a secret in the log.
        end: the end of all requests, by the monotonic clock.
    """

    run: CiRun
    env: Mapping[str, str]
    url: str
    token: str
    project: str
    hide: Callable[[str], None]
    end: float
    is_exchanged: bool = field(default=False, init=False)
    _remote: Remote | None = field(default=None, init=False)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.end - time.monotonic()

    @property
    def seconds(self) -> float:
        """The timeout of the next request."""
        return min(max(self.left, _MIN_SECONDS), 30.0)

    def close(self) -> None:
        """Close the connections."""
        if self._remote is not None:
            self._remote.close()
            self._remote = None

    def ask(self, request: Callable[[Remote], T]) -> T:
        """Return the response to a request, repeated while the server does not respond.

        Raises:
            WaitTimeout: the server did not respond until the end.
            ServerError: the server refused the request.
            BbopsError: the job has no identity token.
        """
        pause, is_renewed = POLL_SECONDS, False
        while True:
            try:
                return request(self._open())
            except TokenRejected as error:
                if self.env.get("BBOPS_TOKEN", "").strip():
                    raise TokenRejected(error.message, hint=_RENEWAL_HINT) from None
                if is_renewed or not self.is_exchanged:
                    raise
                self._renew()
                is_renewed = True
            except ServerAway as error:
                if self.left <= pause:
                    raise WaitTimeout(error.message, hint=error.hint) from None
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def pause(self) -> None:
        """Sleep until the next poll."""
        time.sleep(max(0.0, min(POLL_SECONDS, self.left)))

    def _open(self) -> Remote:
        if self._remote is None:
            if not self.token:
                self._exchange()
            remote = Remote(self.url, self.token)
            self.project = self.project or remote.only_project()
            self._remote = remote
        return self._remote

    def _exchange(self) -> None:
        identity = read_identity(self.run, self.env, self.url)
        self.hide(identity)
        with Remote(self.url) as remote:
            issued = remote.exchange_identity(identity, self.project)
        self.hide(issued.token)
        self.token, self.project, self.is_exchanged = issued.token, issued.project, True

    def _renew(self) -> None:
        if not can_renew(self.env):
            raise BbopsError(
                "the token of this job has ended after ten minutes",
                hint="this CI service gives a job a single identity token: use a shorter --timeout",
            )
        self.close()
        self.token = ""
