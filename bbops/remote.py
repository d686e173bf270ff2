"""Ask a running server about its projects: all of bbops that speaks HTTP, but for `replay`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from bbops.addresses import check_address, is_here, is_https
from bbops.answers import (
    Draft,
    Login,
    LoginOutcome,
    Merged,
    Oneself,
    Preview,
    ProjectLine,
    Proposal,
    Publication,
    PublishedFrontend,
    Replayed,
    RolledBack,
    ServerStatus,
    Standing,
    Status,
    error_text,
)
from bbops.diagnostics import suggest
from bbops.errors import ServerError
from bbops.project_api import TIMEOUT_SECONDS, reason_of

ROWS_SECONDS = 650.0
PLAN_SECONDS = 130.0
MERGE_SECONDS = 400.0
"""More than a server takes to test what it merges, and waits for it to be live."""

T = TypeVar("T")


class Remote:
    """The control plane of one server. Use it in a `with` block, or close it."""

    def __init__(self, control_url: str, token: str = "") -> None:
        """Raises: ServerError: this is no address, or the token would be sent without https."""
        self._url, self._has_token = check_address(control_url), bool(token)
        if token and self._url.startswith("http:") and not is_here(self._url):
            raise ServerError(
                f"a token is not sent to '{self._url}' without https",
                hint="name its https address",
            )
        headers = {"authorization": f"Bearer {token}"} if token else {}
        # A proxy for the internet must not be asked for this machine's own addresses.
        self._client = httpx.Client(
            timeout=TIMEOUT_SECONDS,
            trust_env=not is_here(self._url),
            headers=headers,
            verify=is_https(self._url),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def projects(self) -> list[ProjectLine]:
        """Return the projects this server runs.

        Raises:
            ServerError: it cannot be reached or gives another answer, as for all calls.
        """
        return self._read(self._ask("GET", "/api/projects"), list[ProjectLine])

    def status(self, name: str) -> Status:
        """Return how a project is.

        Raises:
            ServerError: also when the server has no such project.
        """
        return self._read(self._ask_about("GET", name, "status"), Status)

    def server(self) -> ServerStatus:
        """Return how the server's own settings are; empty from one that does not tell you."""
        answer = self._ask("GET", "/api/server")
        if answer.status_code in {httpx.codes.NOT_FOUND, httpx.codes.FORBIDDEN}:
            return ServerStatus()
        return self._read(answer, ServerStatus)

    def only_project(self) -> str:
        """Return the name of the server's one project.

        Raises:
            ServerError: also when it has none, or several.
        """
        names = [one.name for one in self.projects()]
        if len(names) != 1:
            listed = ", ".join(names) or "none"
            raise ServerError(f"name a project; the server at '{self._url}' has {listed}")
        return names[0]

    def likely_project(self, name: str) -> str:
        """Return `name` where the server has such a project, else its only one's.

        Raises:
            ServerError: also when it has none, or several others.
        """
        found = any(one.name == name for one in self.projects())
        return name if found else self.only_project()

    def weigh(
        self, name: str, tables: Mapping[str, Mapping[str, Any]], env: Sequence[str]
    ) -> dict[str, Any]:
        """Return what would become of the live data of a project if these were its tables.

        Args:
            name: the project's.
            tables: as their files say them.
            env: names of variables; the answer has those that have a value.

        Raises:
            ServerError: also when the tables have mistakes.
        """
        body = {"tables": tables, "env": list(env)}
        path = f"/api/projects/{quote(name, safe='')}/plan"
        return self._read(self._ask("POST", path, body, seconds=PLAN_SECONDS), dict[str, Any])

    def publish_frontend(self, name: str, archive: bytes, message: str) -> PublishedFrontend:
        """Have the files of a zip archive published; answers when they are live.

        Raises:
            ServerError: also when the project takes none.
        """
        path = f"/api/projects/{quote(name, safe='')}/frontends?message={quote(message)}"
        answer = self._send("POST", path, content=archive, seconds=PLAN_SECONDS + PLAN_SECONDS)
        return self._read(answer, PublishedFrontend)

    def frontends(self, name: str) -> list[dict[str, Any]]:
        """Return the frontends that were published on their own. Raises as `status`."""
        return self._read(self._ask_about("GET", name, "frontends"), list[dict[str, Any]])

    def requests(self, name: str, **filters: Any) -> list[dict[str, Any]]:
        """Return the newest answered requests of a project, newest last.

        Raises:
            ServerError: also when the server has no such project, or a filter is wrong.
        """
        given = {key: value for key, value in filters.items() if value is not None}
        query = str(httpx.QueryParams(given))
        return self._read(self._ask_about("GET", name, f"requests?{query}"), list[dict[str, Any]])

    def reconcile(self, name: str) -> None:
        """Have the server look at a project's repository now instead of soon.

        Raises:
            ServerError: also when the server has no such project.
        """
        self._demand(self._ask_about("POST", name, "reconcile"))

    def accept(self, name: str, commit: str) -> None:
        """Have the server serve a commit that it holds because its history was rewritten.

        Raises:
            ServerError: also when it holds another commit, or none.
        """
        self._demand(self._ask_about("POST", name, "accept", {"commit": commit}))

    def drafts(self, name: str) -> list[Draft]:
        """Return a project's drafts, the one committed to last first.

        Raises:
            ServerError: also when the server has no such project.
        """
        return self._read(self._ask_about("GET", name, "drafts"), list[Draft])

    def draft(self, name: str, wanted: str) -> Draft:
        """Return the draft of a branch or of a slug.

        Raises:
            ServerError: also when there is none.
        """
        found = self.drafts(name)
        for one in found:
            if wanted in {one.branch, one.slug}:
                return one
        branches = [one.branch for one in found]
        hint = suggest(wanted, branches) or "push the branch; 'bbops drafts list' shows them"
        raise ServerError(f"project '{name}' has no draft '{wanted}'", hint=hint)

    def open_draft(self, name: str, slug: str, hours: int) -> Preview:
        """Return a token for a draft. Raises as `draft`."""
        path = f"drafts/{quote(slug, safe='')}/token"
        return self._read(self._ask_about("POST", name, path, {"hours": hours}), Preview)

    def renew_draft(self, name: str, slug: str) -> None:
        """Have a draft begin anew with an empty database. Raises as `draft`."""
        self._demand(self._ask_about("POST", name, f"drafts/{quote(slug, safe='')}/renew"))

    def copy_rows(
        self, name: str, slug: str, tables: list[str], limit: int, masked: list[str]
    ) -> dict[str, int]:
        """Have live rows copied into a draft; return how many each table got. Raises as `draft`."""
        body = {"tables": tables, "limit": limit, "masked": masked}
        path = f"/api/projects/{quote(name, safe='')}/drafts/{quote(slug, safe='')}/rows"
        answer = self._ask("POST", path, body, seconds=ROWS_SECONDS)
        return self._read(answer, dict[str, dict[str, int]])["rows"]

    def of_project(self, name: str, method: str, path: str, kind: type[T], body: Any = None) -> T:
        """Return what a server answers about something of a project. Raises as `status`."""
        return self._read(self._ask_about(method, name, path, body), kind)

    def of_server(
        self, method: str, path: str, kind: type[T], body: Any = None,
        seconds: float = TIMEOUT_SECONDS,
    ) -> T:  # fmt: skip
        """Return what a server answers about something of its own. Raises as `projects`."""
        return self._read(self._ask(method, f"/api/{path}", body, seconds), kind)

    def suspend(self, name: str, reason: str) -> None:
        """Have nothing new of a project go live. Raises as `reconcile`."""
        self._demand(self._ask_about("POST", name, "suspend", {"reason": reason}))

    def resume(self, name: str) -> bool:
        """Have a project go on; return whether it was suspended. Raises as `reconcile`."""
        answer = self._read(self._ask_about("POST", name, "resume"), dict[str, bool])
        return answer["was_suspended"]

    def exempt(self, name: str) -> str:
        """Have the newest commit go live in spite of a freeze; return its revision.

        Raises:
            ServerError: also when nothing is frozen.
        """
        return self._read(self._ask_about("POST", name, "exempt"), dict[str, str])["revision"]

    def roll_back(self, name: str, version: str, only: list[str], *, now: bool) -> RolledBack:
        """Have a commit proposed that restores a version; `now`, have it put on the live branch.

        Raises:
            ServerError: also when there is no such version, or nothing would change.
        """
        body = {"version": version, "only": only, "now": now}
        return self._read(self._ask_about("POST", name, "rollback", body), RolledBack)

    def publications(self, name: str, limit: int) -> list[Publication]:
        """Return a project's newest attempts to go live. Raises as `status`."""
        answer = self._ask_about("GET", name, f"publications?limit={limit}")
        return self._read(answer, list[Publication])

    def proposals(self, name: str, state: str | None = None) -> list[Proposal]:
        """Return a project's proposals, the newest first.

        Raises:
            ServerError: also when the server has no such project.
        """
        query = f"?state={state}" if state else ""
        return self._read(self._ask_about("GET", name, f"proposals{query}"), list[Proposal])

    def proposal(self, name: str, number: int) -> Standing:
        """Return a proposal and how it stands. Raises: ServerError: also when there is none."""
        return self._read(self._ask_of(name, number, "GET"), Standing)

    def review(self, name: str, number: int, verdict: str, text: str, plan: str = "") -> Proposal:
        """Say something of a proposal.

        Args:
            name: the project's.
            number: of the proposal.
            verdict: approved, refused or commented.
            text: what is said.
            plan: the digest of what was looked at; empty for what it is now.

        Raises:
            ServerError: also when it has changed since.
        """
        body = {"verdict": verdict, "text": text, "plan": plan}
        return self._read(self._ask_of(name, number, "POST", "/review", body), Proposal)

    def mark_proposal(
        self, name: str, number: int, *, ready: bool | None = None,
        reviewers: Sequence[str] | None = None,
    ) -> Proposal:  # fmt: skip
        """Say whether a proposal is ready, and who is asked for a review; None stays.

        Raises:
            ServerError: also when it is somebody else's, or somebody cannot review it.
        """
        body = {"ready": ready, "reviewers": None if reviewers is None else list(reviewers)}
        return self._read(self._ask_of(name, number, "POST", "/mark", body), Proposal)

    def merge(self, name: str, number: int, head: str = "") -> Merged:
        """Merge a proposal, and wait until it is live. Raises: ServerError: or it may not be."""
        return self._read(self._ask_of(name, number, "POST", "/merge", {"head": head}), Merged)

    def replay_proposal(self, name: str, number: int) -> Replayed:
        """Have a proposal's draft asked again. Raises: ServerError: also when it does not work."""
        return self._read(self._ask_of(name, number, "POST", "/replay"), Replayed)

    def close_proposal(self, name: str, number: int) -> Proposal:
        """Close a proposal. Raises: ServerError: also when it is somebody else's."""
        return self._read(self._ask_of(name, number, "POST", "/close"), Proposal)

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

    def _ask_of(
        self, name: str, number: int, method: str, what: str = "", body: Any = None
    ) -> httpx.Response:
        """Ask about a proposal; a merge is answered when it is live."""
        path = f"/api/projects/{quote(name, safe='')}/proposals/{number}{what}"
        return self._ask(method, path, body, seconds=MERGE_SECONDS)

    def _ask_about(self, method: str, name: str, what: str, body: Any = None) -> httpx.Response:
        answer = self._ask(method, f"/api/projects/{quote(name, safe='')}/{what}", body)
        if answer.status_code == httpx.codes.NOT_FOUND:
            raise self._missing(name)
        return answer

    def _ask(
        self, method: str, path: str, body: Any = None, seconds: float = TIMEOUT_SECONDS
    ) -> httpx.Response:
        return self._send(method, path, seconds=seconds, json=body)

    def _send(self, method: str, path: str, *, seconds: float, **body: Any) -> httpx.Response:
        try:
            return self._client.request(method, self._url + path, timeout=seconds, **body)
        except httpx.TimeoutException:
            message = f"'{self._url}' did not answer within {seconds:g} seconds"
            raise ServerError(message) from None
        except httpx.TransportError as error:
            raise ServerError(
                f"cannot reach a server at '{self._url}': {reason_of(error)}",
                hint="is 'bbops serve' running? name another server with --server URL",
            ) from None

    def _read(self, answer: httpx.Response, wanted: type[T]) -> T:
        self._demand(answer)
        try:
            return msgspec.json.decode(answer.content, type=wanted)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise self._odd(answer) from None

    def _demand(self, answer: httpx.Response) -> None:
        if not answer.is_success:
            raise self._odd(answer)

    def _odd(self, answer: httpx.Response) -> ServerError:
        said = error_text(answer.content)
        if said and answer.status_code == httpx.codes.UNAUTHORIZED:
            what = "this token no longer" if self._has_token else "you for nobody"
            return ServerError(f"'{self._url}' takes {what}", hint=f"bbops login {self._url}")
        if said:
            return ServerError(f"the server at '{self._url}' said no: {said}")
        return ServerError(
            f"what answers at '{self._url}' is no control plane of bbops",
            hint="'bbops serve' prints the address of its control plane, port 8001 by default",
        )

    def _missing(self, name: str) -> ServerError:
        names = [one.name for one in self.projects()]
        hint = suggest(name, names) or (f"it has {', '.join(names)}" if names else "it has none")
        return ServerError(f"the server at '{self._url}' has no project '{name}'", hint=hint)
