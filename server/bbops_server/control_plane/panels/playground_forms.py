"""Read the form of the Playground's page, and what it is filled with at first."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from litestar.datastructures import UploadFile
from litestar.exceptions import ClientException

from bbops.interfaces.mcp.project_backend import DraftUser
from bbops.review.contract.contract import Example, Operation
from bbops.review.contract.form_fields import JSON, RequestForm, show
from bbops.review.contract.form_requests import FilledForm, FormPart, Pairs
from bbops_server.control_plane.playground.saved_tests import ExpectedResponse
from bbops_server.control_plane.playground.sending import ANONYMOUS, SignInChoice
from bbops_server.control_plane.web.visit import Visit

MAX_FIELDS: Final = 1_000
MAX_FILES: Final = 20
MAX_LINES: Final = 50
LOGIN: Final = "login:"
"""The prefix of the login's fields."""
_STATUS_DIGITS: Final = 3


@dataclass(frozen=True, slots=True)
class PageForm:
    """The values of the page's form.

    Attributes:
        action: the pressed button.
        is_json: the body is one JSON text.
        signed_in: the chosen kind of caller: "", `user`, `login` or `credential`.
        user: the id or the email address of a user, as typed.
        login: the fields of the project's login, by their names in its form.
    """

    filled: FilledForm = field(default_factory=FilledForm)
    action: str = "send"
    is_json: bool = False
    signed_in: str = ""
    user: str = ""
    scheme: str = ""
    credential: str = field(default="", repr=False)
    login: FilledForm = field(default_factory=FilledForm, repr=False)
    subject: str = ""
    """The id of the signed-in user, as the last response has shown it."""
    is_confirmed: bool = False
    case: str = ""
    """The name of the test's case."""
    draft: str = ""
    """The branch to commit the test to."""
    plan: str = ""
    expected: ExpectedResponse | None = None

    @property
    def user_of_test(self) -> str:
        """The id of the signed-in user in a test of this request; empty if it is unknown."""
        typed = self.user if self.signed_in == "user" and "@" not in self.user else ""
        return (self.subject or typed) if self.signed_in else ""

    def choice_of_test(self) -> SignInChoice:
        """Return the caller of the case, which has no credential."""
        user = self.user_of_test
        return SignInChoice(DraftUser(id=user)) if user else ANONYMOUS

    def choice(self) -> SignInChoice:
        """Return the caller. Raises: ClientException: the user or the credential is missing."""
        if self.signed_in == "user":
            if not self.user:
                raise ClientException("no user is given; type the id or the email of a user")
            is_email = "@" in self.user
            user = DraftUser(email=self.user) if is_email else DraftUser(id=self.user)
            return SignInChoice(user)
        if self.signed_in == "login":
            return SignInChoice(login=self.login)
        if self.signed_in == "credential":
            if not self.credential:
                raise ClientException("no credential is given; type a token or an API key")
            return SignInChoice(None, self.scheme, self.credential)
        return ANONYMOUS


async def read_page_form(visit: Visit, form: RequestForm) -> PageForm:
    """Return the submitted form. Raises: ClientException: it has too many fields or files."""
    sent = await visit.request.form()
    if len([*sent.multi_items()]) > MAX_FIELDS:
        raise ClientException(f"the form has more than {MAX_FIELDS:,} fields")

    def texts(name: str) -> tuple[str, ...]:
        return tuple(value for value in sent.getall(name, []) if isinstance(value, str))

    def text(name: str) -> str:
        return next(iter(texts(name)), "").strip()

    files = [part async for part in _read_files(form, sent)]
    is_json = text("mode") == "json"
    body = next(iter(texts("json")), "").replace("\r\n", "\n") if is_json else None
    filled = FilledForm(
        {item.name: _plain(texts(item.name)) for item in form.fields if texts(item.name)},
        frozenset(texts("empty")), body, _read_lines(text("query"), "="),
        _read_lines(text("headers"), ":"), tuple(files),
    )  # fmt: skip
    login = FilledForm({
        name.removeprefix(LOGIN): _plain(texts(name)) for name in sent if name.startswith(LOGIN)
    })  # fmt: skip
    return PageForm(
        filled, text("do") or "send", is_json, text("as"), text("user")[:320], text("scheme"),
        text("credential"), login, text("subject")[:200], is_confirmed=bool(text("confirm")),
        case=text("case"), draft=text("draft")[:100], plan=text("plan")[:300],
        expected=_read_expected(text("status"), next(iter(texts("response")), "")),
    )  # fmt: skip


def _read_expected(status: str, body: str) -> ExpectedResponse | None:
    is_status = status.isascii() and status.isdigit() and len(status) == _STATUS_DIGITS
    return ExpectedResponse(int(status), body) if is_status else None


def _plain(texts: Sequence[str]) -> tuple[str, ...]:
    """Return texts with the line ends that were typed; browsers send CR LF."""
    return tuple(text.replace("\r\n", "\n") for text in texts)


async def _read_files(form: RequestForm, sent: Any) -> Any:
    count = 0
    for item in form.of("file"):
        for upload in sent.getall(item.name, []):
            if not isinstance(upload, UploadFile) or not upload.filename:
                continue
            count += 1
            if count > MAX_FILES:
                raise ClientException(f"at most {MAX_FILES} files can be sent")
            content = await upload.read()
            yield FormPart(item.label, content, upload.filename, upload.content_type or "")


def _read_lines(text: str, sign: str) -> Pairs:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > MAX_LINES:
        raise ClientException(f"at most {MAX_LINES} lines can be added")
    pairs = []
    for line in lines:
        name, found, value = line.partition(sign)
        if not found:
            example = "page=2" if sign == "=" else "x-trace: 1"
            raise ClientException(f"'{line[:50]}' has no '{sign}'; write it as '{example}'")
        pairs.append((name.strip(), value.strip()))
    return tuple(pairs)


# ---- initial values of the form
def fill_example(operation: Operation, form: RequestForm, *, is_json: bool) -> FilledForm:
    """Return the form with the first example of the contract; empty without one."""
    if not operation.examples:
        return FilledForm()
    example = operation.examples[0]
    values = dict(_values(form, example))
    if not is_json:
        return FilledForm(values)
    return FilledForm(values, body=json.dumps(example.body, indent=2, ensure_ascii=False))


def fill_paths(operation: Operation, form: RequestForm, *, is_json: bool) -> FilledForm:
    """Return the form with path parameters of the example, and a JSON body if it is one text."""
    filled = fill_example(operation, form, is_json=is_json)
    values = {name: texts for name, texts in filled.values.items() if name.startswith("path:")}
    return replace(filled, values=values)


def leave_out(filled: FilledForm, names: Container[str]) -> FilledForm:
    """Return the form without the texts of some fields."""
    values = {name: texts for name, texts in filled.values.items() if name not in names}
    return replace(filled, values=values)


def _values(form: RequestForm, example: Example) -> Iterator[tuple[str, tuple[str, ...]]]:
    body = example.body if isinstance(example.body, dict) else {}
    sources = {"path": example.params, "query": example.query, "body": body}
    for item in form.fields:
        source = sources.get(item.place, {})
        if item.label in source and item.widget != "secret":
            yield item.name, (show_value(source[item.label], is_json=item.widget == "json"),)


def show_value(value: Any, *, is_json: bool) -> str:
    """Return the text of a value in a field."""
    if is_json or isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return show(value)


def uses_json(form: RequestForm, asked: str) -> bool:
    """Return whether the body is shown as one JSON text: by choice, or without known fields."""
    if form.content_type not in {"", JSON}:
        return asked == JSON_MODE
    return bool(form.content_type) and (asked == JSON_MODE or not form.has_fields)


JSON_MODE: Final = "json"
