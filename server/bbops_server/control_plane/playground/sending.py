"""Requests of the Playground: permissions, limits, sign-in and the last calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final

import msgspec
from litestar.exceptions import ClientException, NotFoundException, TooManyRequestsException

from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError
from bbops.interfaces.answers import DraftStatus
from bbops.interfaces.mcp.project_backend import DraftUser, RequestToDraft
from bbops.interfaces.mcp.tool import ToolError
from bbops.review.contract.contract import Contract, Operation, Session
from bbops.review.contract.form_fields import RequestForm, describe_form
from bbops.review.contract.form_requests import (
    Credential,
    FilledForm,
    OutgoingRequest,
    fill_form,
    with_credential,
)
from bbops.review.contract.sessions import endpoint_name
from bbops.review.replay.sending import Reply
from bbops_server.accounts.playground import CallOwner
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.playground.kept_forms import write_form
from bbops_server.control_plane.playground.results import (
    ComparedResponses,
    PlaygroundResult,
    find_differences,
    write_result,
)
from bbops_server.control_plane.projects.contracts import find_draft, find_live
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import require_permission
from bbops_server.control_plane.web.visit import Visit
from bbops_server.mcp.project_backend import ServedBackend
from bbops_server.mcp.requests import Exchanged, Outgoing, send_to_live
from bbops_server.mcp.served import Served
from bbops_server.publish.build.contracts import COMPLETE

MAX_INPUT_BYTES: Final = 1 << 20
SAFE_METHODS: Final = frozenset({"GET"})
MAX_RUNNING: Final = 4
"""Requests of one user at a time."""
_TOO_LARGE: Final = 413


@dataclass(frozen=True, slots=True)
class SignInChoice:
    """The caller of a request: an anonymous client, a user, or a typed credential.

    Attributes:
        user: a row of the draft's users table.
        scheme: the name of a scheme of the contract, such as `bearer`.
        login: the values of the project's own login, which is sent first.
    """

    user: DraftUser | None = None
    scheme: str = ""
    credential: str = field(default="", repr=False)
    login: FilledForm | None = field(default=None, repr=False)


ANONYMOUS: Final = SignInChoice()


@dataclass(frozen=True, slots=True)
class PlaygroundTarget:
    """A project's live release or one of its drafts, with its contract.

    Attributes:
        draft: None for live.
    """

    visit: Visit
    project: str
    draft: DraftStatus | None
    contract: Contract

    @classmethod
    async def open(cls, visit: Visit, project: str, slug: str) -> PlaygroundTarget:
        """Return a target; an empty slug is live. Raises: HTTPException: it has no contract."""
        draft = None
        if slug:
            drafts = visit.control.status.drafts(project)
            text = (await find_draft(visit, project, slug, COMPLETE)).text
            draft = drafts.find(slug) if drafts is not None else None
        else:
            text = (await find_live(visit, project, COMPLETE)).text
        contract = msgspec.json.decode(text, type=Contract)
        endpoints = tuple(item for item in contract.operations if not item.is_chat)
        return cls(visit, project, draft, replace(contract, operations=endpoints))

    @property
    def branch(self) -> str:
        """The branch of the draft; empty for live."""
        return self.draft.branch if self.draft is not None else ""

    @property
    def url(self) -> str:
        """The public URL of the API."""
        if self.draft is not None:
            return self.draft.url
        projects = self.visit.control.status.projects()
        return next((each.url for each in projects if each.name == self.project), "")

    def operation(self, endpoint: str) -> Operation:
        """Return an operation by endpoint or id. Raises: NotFoundException: it does not exist."""
        names = {endpoint_name(item.id): item for item in self.contract.operations}
        found = names.get(endpoint) or next(
            (item for item in self.contract.operations if item.id == endpoint), None
        )
        if found is None:
            near = suggest(endpoint, [*names])
            raise NotFoundException(
                f"there is no endpoint '{endpoint[:100]}'" + (f"; {near}" if near else "")
            )
        return found

    def form(self, operation: Operation) -> RequestForm:
        """Return the form of an operation."""
        return describe_form(operation, self.contract.shapes)

    def owner(self, operation: Operation) -> CallOwner:
        """Return the owner of the caller's calls of an operation."""
        return CallOwner(self.visit.caller.email, self.project, endpoint_name(operation.id))

    def may_send(self, operation: Operation) -> bool:
        """Return whether the caller may send requests of an operation."""
        return self.visit.may(self.permission(operation), self.project)

    def permission(self, operation: Operation) -> Permission:
        """Return the permission to send requests of an operation."""
        if self.draft is not None:
            return Permission.OPEN_DRAFT
        is_safe = operation.method in SAFE_METHODS
        return Permission.CALL_LIVE if is_safe else Permission.CHANGE_LIVE

    # ---- sending
    async def send(
        self, operation: Operation, filled: FilledForm, choice: SignInChoice = ANONYMOUS, *,
        confirmed: bool = False,
    ) -> PlaygroundResult:  # fmt: skip
        """Send a request and keep it among the caller's last calls.

        Raises:
            HTTPException: it is not permitted, not confirmed, invalid, or the server does not
                respond.
        """
        await require_permission(self.visit, self.permission(operation), self.project)
        if choice.user is not None and self.draft is not None:
            await require_permission(self.visit, Permission.PUSH_DRAFT, self.project)
        request, credential = self._prepare(operation, filled, choice)
        await self._admit(operation, confirmed=confirmed)
        if choice.login is not None:
            credential = await self._log_in(request, choice.login, confirmed=confirmed)
        is_kept = self._is_kept(operation)
        exchanged = await self._exchange(request, credential, choice, is_traced=is_kept)
        result = write_result(exchanged, request, credential, draft=self.branch, url=self.url)
        await self._keep(operation, filled, result)
        return result

    async def _admit(self, operation: Operation, *, confirmed: bool) -> None:
        """Count a request, and note it in the audit log if it may change live data.

        Raises:
            HTTPException: it is not permitted, not confirmed, or one too many.
        """
        await require_permission(self.visit, self.permission(operation), self.project)
        if not self.needs_confirmation(operation):
            self._count()
            return
        if not confirmed:
            raise ClientException(
                f"'{operation.method} {operation.path}' may change live data; confirm it first",
                status_code=409,
            )
        self._count()
        await self.visit.note("send live request", object=self._label(operation))

    async def _log_in(
        self, request: OutgoingRequest, values: FilledForm, *, confirmed: bool
    ) -> Credential:
        """Send the project's login, and return the credential of its response for a request.

        Raises:
            HTTPException: as `send`; also if the login refuses.
        """
        try:
            operation = require_login(self.contract)
        except BbopsError as error:
            raise refuse(error, 400) from None
        sent, _ = self._prepare(operation, values, ANONYMOUS)
        await self._admit(operation, confirmed=confirmed)
        exchanged = await self._exchange(sent, None, ANONYMOUS)
        try:
            credential = read_credential(self.contract, exchanged.reply)
            with_credential(request, credential)
        except BbopsError as error:
            raise refuse(error, 400) from None
        return credential

    async def compare(
        self, operation: Operation, filled: FilledForm, choice: SignInChoice = ANONYMOUS
    ) -> ComparedResponses:
        """Send the same GET to live and to the draft, and compare the responses.

        Raises:
            HTTPException: as `send`; the method is not GET, or the request is of a draft's user.
        """
        await require_permission(self.visit, Permission.CALL_LIVE, self.project)
        await require_permission(self.visit, self.permission(operation), self.project)
        self._require_comparable(operation, choice)
        live = PlaygroundTarget(self.visit, self.project, None, self.contract)
        request, credential = self._prepare(operation, filled, choice)
        exchanges = []
        for target in (live, self):
            self._count()
            exchanges.append(await target._exchange(request, credential, choice))  # noqa: SLF001
        results = [
            write_result(exchanged, request, credential, draft=target.branch, url=target.url)
            for target, exchanged in zip((live, self), exchanges, strict=True)
        ]
        replies = [exchanged.reply for exchanged in exchanges]
        return ComparedResponses(results[0], results[1], find_differences(*replies))

    def _require_comparable(self, operation: Operation, choice: SignInChoice) -> None:
        if self.draft is None:
            raise ClientException("open a draft to compare it with live")
        if operation.method not in SAFE_METHODS:
            raise ClientException(
                "only GET requests are compared with live: others would change live data"
            )
        if choice.user is not None:
            raise ClientException(
                "live does not know users of a draft; compare without sign-in or with a credential"
            )
        if choice.login is not None:
            raise ClientException(
                "a login to live may change it; compare without sign-in or with a credential"
            )

    def _prepare(
        self, operation: Operation, filled: FilledForm, choice: SignInChoice
    ) -> tuple[OutgoingRequest, Credential | None]:
        try:
            request = fill_form(operation, self.form(operation), filled)
            credential = self._credential(choice)
            with_credential(request, credential)
        except BbopsError as error:
            raise refuse(error, 400) from None
        if len(request.body) > MAX_INPUT_BYTES:
            raise ClientException(
                f"the body has {len(request.body):,} bytes, at most {MAX_INPUT_BYTES:,} can be"
                " sent from here; use curl for larger ones", status_code=_TOO_LARGE,
            )  # fmt: skip
        return request, credential

    def _credential(self, choice: SignInChoice) -> Credential | None:
        if choice.user is not None and self.draft is None:
            raise BbopsError(
                "only drafts can sign in as a user", hint="use a token of the project's own login"
            )
        if not choice.credential:
            return None
        scheme = next((each for each in self.contract.schemes if each.name == choice.scheme), None)
        if scheme is None:
            known = ", ".join(each.name for each in self.contract.schemes) or "none"
            raise BbopsError(f"there is no scheme '{choice.scheme[:50]}'", hint=f"known: {known}")
        text = choice.credential.strip()
        if scheme.kind != "bearer":
            return Credential(scheme.kind, scheme.key, text)
        return Credential("header", scheme.key, text if " " in text else f"Bearer {text}")

    def needs_confirmation(self, operation: Operation) -> bool:
        """Return whether a request of an operation may change live data."""
        return self.draft is None and operation.method not in SAFE_METHODS

    def _count(self) -> None:
        caller = self.visit.caller
        wait = self.visit.control.limits.playground.take(caller.person or caller.how)
        if wait:
            raise TooManyRequestsException(
                f"at most 60 requests a minute; try again in {wait} s",
                headers={"retry-after": str(wait)},
            )

    def _label(self, operation: Operation) -> str:
        return f"{self.project} {operation.method} {operation.path}"

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Count a request while it runs. Raises: TooManyRequestsException: too many of a user."""
        running, caller = self.visit.control.running_requests, self.visit.caller
        key = caller.person or caller.how
        if running[key] >= MAX_RUNNING:
            raise TooManyRequestsException(
                f"{MAX_RUNNING} of your requests are running; wait for one of them",
                headers={"retry-after": "1"},
            )
        running[key] += 1
        try:
            yield
        finally:
            running[key] -= 1
            if not running[key]:
                del running[key]

    def _is_kept(self, operation: Operation) -> bool:
        """Return whether the history keeps requests of an operation, and so their traces.

        True without an outline in memory.
        """
        slug = self.draft.slug if self.draft is not None else ""
        outline = self.visit.control.outlines.peek(self.project, slug)
        endpoints = outline.endpoints if outline is not None else ()
        return all(item.history != "off" for item in endpoints if item.id == operation.id)

    async def _exchange(
        self, request: OutgoingRequest, credential: Credential | None, choice: SignInChoice, *,
        is_traced: bool = True,
    ) -> Exchanged:  # fmt: skip
        with self._running():
            return await self._send(with_credential(request, credential), choice, is_traced)

    async def _send(
        self,
        sent: OutgoingRequest,
        choice: SignInChoice,
        is_traced: bool,
    ) -> Exchanged:
        visit = self.visit
        at = Served(visit.control, visit.caller, self.project, visit.address)
        try:
            if self.draft is None:
                outgoing = Outgoing(sent.method, sent.target, sent.headers, sent.body)
                return await send_to_live(at, outgoing, visit.caller.email, is_traced=is_traced)
            request = RequestToDraft(
                self.draft.branch, sent.method, sent.target, dict(sent.headers), sent.body,
                choice.user,
            )  # fmt: skip
            return await ServedBackend(at).exchange(request, is_traced=is_traced)
        except (BbopsError, ToolError) as error:
            raise refuse(error) from None

    async def _keep(
        self, operation: Operation, filled: FilledForm, result: PlaygroundResult
    ) -> None:
        await self.visit.control.run(
            self.visit.book.playground.add, self.owner(operation), draft=self.branch,
            status=result.status, milliseconds=result.milliseconds, form=write_form(filled),
        )  # fmt: skip


# ---- Sign in by the project's own login, for one request of the Playground

_MAX_TEXT: Final = 200
"""Characters of the login's response that an error repeats."""


def find_login(contract: Contract) -> Operation | None:
    """Return the operation of the project's login; None if `session` names none."""
    wanted = contract.session.login if contract.session is not None else None
    return next((item for item in contract.operations if item.id == wanted), None)


def require_login(contract: Contract) -> Operation:
    """Return the operation of the project's login. Raises: BbopsError: it has none."""
    found = find_login(contract)
    if found is None:
        raise BbopsError(
            "the project has no login", hint="'session: {login: ENDPOINT}' in project.yaml names it"
        )
    return found


def read_credential(contract: Contract, reply: Reply) -> Credential:
    """Return the credential in the response of the login: a token, or the cookie of the session.

    Raises:
        BbopsError: the login has refused, or its response has neither.
    """
    session = contract.session
    if session is None or not 200 <= reply.status < 300:
        raise _refusal(reply)
    token = _find_token(session, reply)
    if token:
        word = session.header.partition(": ")[2].partition(" ")[0]
        return Credential("header", "authorization", f"{word} {token}")
    if session.cookie is not None and (value := _find_cookie(session.cookie.name, reply)):
        return Credential("cookie", session.cookie.name, value)
    raise BbopsError(
        f"the response of the login has no '{_token_field(session)}'",
        hint="'session: {tokenField: NAME}' in project.yaml names the field of the token",
    )


def _token_field(session: Session) -> str:
    return session.token_field or "token"


def _find_token(session: Session, reply: Reply) -> str:
    try:
        body: Any = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    found = body.get(_token_field(session)) if isinstance(body, dict) else None
    return found if isinstance(found, str) else ""


def _find_cookie(name: str, reply: Reply) -> str:
    for header, text in reply.headers:
        if header.lower() != "set-cookie":
            continue
        try:
            cookies = SimpleCookie(text)
        except CookieError:
            continue
        if name in cookies:
            return cookies[name].coded_value
    return ""


def _refusal(reply: Reply) -> BbopsError:
    phrase = HTTPStatus(reply.status).phrase if reply.status in {*HTTPStatus} else ""
    text = " ".join(reply.body.decode(errors="replace").split())
    said = f": {text[:_MAX_TEXT]}" if text else ""
    return BbopsError(
        f"the login answered {reply.status} {phrase}".rstrip() + said,
        hint="nothing else was sent; correct the values of the login",
    )
