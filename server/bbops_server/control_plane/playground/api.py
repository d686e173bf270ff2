"""The API of the Playground: send a request to an endpoint of the live release or of a draft."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from litestar import post
from litestar.exceptions import ClientException
from litestar.params import Body, FromPath, QueryParameter
from msgspec import UNSET, Meta, UnsetType, field

from bbops.interfaces.mcp.project_backend import DraftUser
from bbops.review.contract.form_requests import FilledForm, FormPart
from bbops.review.contract.sessions import endpoint_name
from bbops_server.accounts.playground import CallOwner
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.playground.results import ComparedResponses, PlaygroundResult
from bbops_server.control_plane.playground.saved_tests import (
    MAX_NAME,
    ExpectedResponse,
    SavedTest,
    TestCommit,
    commit_test,
    preview_test,
)
from bbops_server.control_plane.playground.sending import (
    ANONYMOUS,
    MAX_INPUT_BYTES,
    PlaygroundTarget,
    SignInChoice,
)
from bbops_server.control_plane.projects.visited_project import DRAFT, PROJECT
from bbops_server.control_plane.web.routes import PERMISSION, change, read, require_permission
from bbops_server.control_plane.web.visit import Here

MAX_REQUEST_BYTES: Final = 2 * MAX_INPUT_BYTES
"""Files are in base64, which is longer by a third."""
_Name = Annotated[str, Meta(min_length=1, max_length=400)]
Endpoint = Annotated[str, QueryParameter(min_length=1, max_length=400)]
_Pairs = Annotated[dict[str, str | list[str]], Meta(max_length=100)]


class PlaygroundFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a form, in base64."""

    field: _Name
    name: Annotated[str, Meta(max_length=400)]
    base64: str
    type: Annotated[str, Meta(max_length=200)] = ""


class SignInFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The caller: a user of the draft, the body of the project's login, or a credential.

    Credential and login are used for this request only, and not stored. `login` is sent to the
    project's own login first, and the token in its response signs the request in.
    """

    user: DraftUser | None = None
    login: Annotated[dict[str, Any], Meta(max_length=50)] | None = None
    scheme: Annotated[str, Meta(max_length=100)] = "bearer"
    credential: Annotated[str, Meta(max_length=8_000)] = ""


class PlaygroundRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A request to an endpoint, by its name, such as `notes/create`.

    `body` is sent as JSON, `bodyText` as it is; `fields` and `files` make a form. A list of values
    repeats a query field. `confirm` sends a request that may change live data.
    """

    endpoint: _Name
    path: Annotated[dict[str, str], Meta(max_length=50)] = {}
    query: _Pairs = {}
    headers: Annotated[dict[str, str], Meta(max_length=50)] = {}
    body: Any = UNSET
    body_text: str | UnsetType = UNSET
    fields: _Pairs = {}
    files: Annotated[list[PlaygroundFile], Meta(max_length=20)] = []
    as_: SignInFields | UnsetType = field(default=UNSET, name="as")
    confirm: bool = False

    def fill(self) -> FilledForm:
        """Return the filled form. Raises: ClientException: body and form exclude each other."""
        bodies = (self.body is not UNSET, self.body_text is not UNSET, bool(self.fields))
        if sum(bodies) > 1:
            raise ClientException("'body', 'bodyText' and 'fields' exclude each other; send one")
        values = {f"path:{name}": _texts(value) for name, value in self.path.items()}
        values |= {f"body:{name}": _texts(value) for name, value in self.fields.items()}
        return FilledForm(
            values, frozenset(), self._text(), tuple(_spread(self.query)),
            tuple(self.headers.items()), tuple(_part(file) for file in self.files),
        )  # fmt: skip

    def _text(self) -> str | None:
        if self.body is not UNSET:
            return msgspec.json.encode(self.body).decode()
        return None if isinstance(self.body_text, UnsetType) else self.body_text

    def choice(self) -> SignInChoice:
        """Return the caller of the request."""
        if isinstance(self.as_, UnsetType):
            return ANONYMOUS
        given = self.as_
        if (given.user is not None) + bool(given.credential) + (given.login is not None) > 1:
            raise ClientException(
                "'user', 'credential' and 'login' exclude each other; send one of them"
            )
        body = None if given.login is None else msgspec.json.encode(given.login).decode()
        login = None if body is None else FilledForm(body=body)
        return SignInChoice(given.user, given.scheme, given.credential, login)


class TestRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to save as a test, its response, and the draft to commit to."""

    request: PlaygroundRequest
    expected: ExpectedResponse
    draft: Annotated[str, Meta(min_length=1, max_length=100)]
    name: Annotated[str, Meta(max_length=MAX_NAME, description="of the case")] = ""


class TestCommitRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A previewed test: its plan, and the draft to commit to."""

    endpoint: _Name
    draft: Annotated[str, Meta(min_length=1, max_length=100)]
    plan: Annotated[str, Meta(min_length=1, max_length=300)]


class CommittedTest(msgspec.Struct, frozen=True):
    """The commit of a test."""

    draft: str
    commit: str
    files: list[str]


class ForgetRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The name of an endpoint."""

    endpoint: _Name


class ForgottenCalls(msgspec.Struct, frozen=True):
    """The number of deleted calls."""

    deleted: int


class KeptCall(msgspec.Struct, frozen=True):
    """A call that you have sent from here; `draft` is a branch, empty for live."""

    number: int
    at: datetime
    draft: str
    status: int
    milliseconds: float
    form: Annotated[dict[str, Any], Meta(description="the filled form, without secrets")]


@post(
    [f"{PROJECT}/playground", f"{DRAFT}/playground"], status_code=200,
    request_max_body_size=MAX_REQUEST_BYTES, opt={PERMISSION: Permission.OPEN_DRAFT},
)  # fmt: skip
async def send_request(
    visit: Here, name: FromPath[str], data: Annotated[PlaygroundRequest, Body()],
    slug: FromPath[str] = "",
) -> PlaygroundResult:  # fmt: skip
    """Send a request to the live release, or to a draft, which is woken for it.

    To live, a GET takes the role developer; any other method takes the role maintainer and
    `confirm`, and is audited. The request history of live names you as its sender. At most 60
    requests a minute.
    """
    if not slug:
        await require_permission(visit, Permission.CALL_LIVE, name)
    target = await PlaygroundTarget.open(visit, name, slug)
    operation = target.operation(data.endpoint)
    return await target.send(operation, data.fill(), data.choice(), confirmed=data.confirm)


@post(
    f"{DRAFT}/playground/compare", status_code=200, request_max_body_size=MAX_REQUEST_BYTES,
    opt={PERMISSION: Permission.CALL_LIVE},
)  # fmt: skip
async def compare_draft(
    visit: Here, name: FromPath[str], slug: FromPath[str],
    data: Annotated[PlaygroundRequest, Body()],
) -> ComparedResponses:  # fmt: skip
    """Send the same GET to live and to a draft, and compare the responses."""
    target = await PlaygroundTarget.open(visit, name, slug)
    return await target.compare(target.operation(data.endpoint), data.fill(), data.choice())


@post(
    f"{PROJECT}/playground/test", status_code=200, request_max_body_size=MAX_REQUEST_BYTES,
    opt={PERMISSION: Permission.PROPOSE},
)  # fmt: skip
async def preview_playground_test(
    visit: Here, name: FromPath[str], data: Annotated[TestRequest, Body()]
) -> SavedTest:
    """Preview a test of a request; a new draft starts from live."""
    drafts = visit.control.status.drafts(name)
    is_known = drafts is not None and drafts.find(data.draft) is not None
    target = await PlaygroundTarget.open(visit, name, data.draft if is_known else "")
    return await preview_test(
        target, target.operation(data.request.endpoint), data.request.fill(),
        data.request.choice(), data.expected, name=data.name, draft=data.draft,
    )  # fmt: skip


@change(f"{PROJECT}/playground/test/commit", Permission.PROPOSE, status=200)
async def commit_playground_test(
    visit: Here, name: FromPath[str], data: Annotated[TestCommitRequest, Body()]
) -> CommittedTest:
    """Commit a previewed test to a draft."""
    done = await commit_test(visit, name, TestCommit(data.draft, data.plan, data.endpoint))
    return CommittedTest(done.draft, done.commit, done.files)


@read(f"{PROJECT}/playground/calls", Permission.READ_PROJECT)
async def list_calls(visit: Here, name: FromPath[str], endpoint: Endpoint) -> list[KeptCall]:
    """Your last 50 calls of an endpoint, newest first, without secrets."""
    owner = CallOwner(visit.caller.email, name, endpoint_name(endpoint))
    calls = await visit.control.run(visit.book.playground.list, owner)
    return [
        KeptCall(
            call.number, call.at, call.draft, call.status, call.milliseconds,
            msgspec.json.decode(call.form),
        )
        for call in calls
    ]  # fmt: skip


@change(f"{PROJECT}/playground/forget", Permission.READ_PROJECT, status=200)
async def forget_calls(
    visit: Here, name: FromPath[str], data: Annotated[ForgetRequest, Body()]
) -> ForgottenCalls:
    """Delete your last calls of an endpoint."""
    owner = CallOwner(visit.caller.email, name, endpoint_name(data.endpoint))
    return ForgottenCalls(await visit.control.run(visit.book.playground.forget, owner))


def _spread(pairs: dict[str, str | list[str]]) -> Iterator[tuple[str, str]]:
    for name, value in pairs.items():
        for text in _texts(value):
            yield name, text


def _texts(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _part(file: PlaygroundFile) -> FormPart:
    try:
        content = b64decode(file.base64, validate=True)
    except (Base64Error, ValueError):
        raise ClientException(f"'base64' of file '{file.name[:100]}' is not base64") from None
    return FormPart(file.field, content, file.name, file.type)


ROUTES = (
    send_request, compare_draft, preview_playground_test, commit_playground_test,
    list_calls, forget_calls,
)  # fmt: skip
