"""What the steps of addons have in common: settings, files of the run, and asking a vendor."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET

from bbops.base.doors import Folder, Pieces
from bbops.base.host import Follows, Host, Http, HttpRequest, HttpResponse
from bbops.runtime.values.failures import Failure, FlowError, HttpFailure
from bbops.runtime.values.outside import Refusal, failure_of, read_pause, send
from bbops.runtime.values.values import check_size, spend
from bbops.runtime.vendors._pace import Pace

TIMEOUT_SECONDS: Final = 30.0
MOST_FILE_BYTES: Final = 100_000_000
MOST_ANSWER_BYTES: Final = 10_000_000
HELD: Final = frozenset({429, 503})
"""Statuses by which a vendor asks to be left alone for a while."""

MOST_SENT: Final = 50_000_000
"""Characters and members of a body."""
_FILE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}").fullmatch
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


ReadRefusal = Callable[[HttpResponse, Any], Refusal]
"""Reads what a vendor says in an answer that is not a good one: the answer, and its JSON."""


class AddonFailure(Failure):
    """An addon cannot do its step; `code` says why, the client sees a 500."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a step asks its vendor.

    Attributes:
        repeats: what it asks may be carried out twice.
        seconds: how long an answer may take.
        most_bytes: of an answer.
        per_second: how many requests an account may send; 0 for as many as it likes.
    """

    repeats: bool = False
    seconds: float = TIMEOUT_SECONDS
    most_bytes: int = MOST_ANSWER_BYTES
    per_second: float = 0.0


@dataclass(frozen=True, slots=True)
class Work:
    """One step of an addon under way.

    Attributes:
        key: the same for each attempt of the step, and for no other; empty where the vendor takes
            none.
        kept: what the addon keeps from one step to the next, see `Addon`.
        hidden: values that no message repeats, though the vendor says them.
    """

    addon: str
    host: Host
    config: Mapping[str, str | None]
    folder: Folder | None
    terms: Terms = Terms()
    key: str = ""
    kept: Any = None
    hidden: tuple[str, ...] = ()

    def setting(self, name: str) -> str:
        """Return a setting that is needed.

        Raises:
            AddonFailure: it has no value.
        """
        found = self.config.get(name)
        if not found:
            raise AddonFailure("addon-config", f"addon '{self.addon}' needs a value of '{name}'")
        return found

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> HttpResponse:
        """Ask the vendor; return the answer, whatever its status.

        What changes something follows no redirect: it would be done twice, or become a GET.

        Raises:
            HttpFailure: there is none.
        """
        answer = await self._in_turn(self.request(method, url, headers, body))
        spend(len(answer.body) >> 10)
        return answer

    async def together(self, ask: Callable[[Http], Awaitable[HttpResponse]]) -> HttpResponse:
        """Return what `ask` gives; a job records that alone, whatever is asked on the way.

        Raises:
            HttpFailure: there is no answer, or nothing outside may be asked.
        """
        if self.host.http is None:
            raise HttpFailure("httpRefused", "outbound requests are not allowed here")
        doors = self.host.together
        answer = await (ask(self.host.http) if doors is None else doors.do(ask))
        spend(len(answer.body) >> 10)
        return answer

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> HttpRequest:
        """Return a request on the terms of the step; see `send` for redirects."""
        follows: Follows = "same-origin" if method in {"GET", "HEAD"} else "none"
        return HttpRequest(
            method, url, headers, body, self.terms.seconds, follows,
            most_bytes=self.terms.most_bytes,
        )  # fmt: skip

    async def _in_turn(self, request: HttpRequest) -> HttpResponse:
        rate = self.terms.per_second
        pace = Pace(self.host, self.addon, self.config, rate) if rate else None
        if pace is not None:
            await pace.take()
        answer = await send(self.host.http, request, repeats=self.terms.repeats)
        if pace is not None and answer.status in HELD:
            pause = read_pause(answer.headers, self.host.clock.now())
            if pause is not None:
                await pace.hold(pause)
        return answer

    async def accept(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"", *,
        refusal: ReadRefusal,
    ) -> HttpResponse:  # fmt: skip
        """Ask the vendor; return its answer, which is a good one.

        Args:
            method: of HTTP.
            url: what is asked.
            headers: its keys among them.
            body: what is sent.
            refusal: reads another answer, and the JSON in it.

        Raises:
            HttpFailure: there is no answer, or not a good one.
        """
        answer = await self.send(method, url, headers, body)
        if not 200 <= answer.status <= 299:
            raise self.failure(url, answer, refusal(answer, read_json(answer)))
        return answer

    async def ask(
        self, method: str, url: str, headers: Mapping[str, str], body: Any = UNSET, *,
        refusal: ReadRefusal,
    ) -> Any:  # fmt: skip
        """Ask the vendor in JSON; return the JSON of a good answer, None where it has no body.

        Raises:
            HttpFailure: as `accept`.
            AddonFailure: `addon-answer`, it is not JSON.
        """
        sent = b"" if body is UNSET else write_json(body)
        kind = {} if body is UNSET else {"content-type": "application/json"}
        answer = await self.accept(method, url, {**kind, **headers}, sent, refusal=refusal)
        return read_answer(url, answer)

    def failure(
        self, url: str, answer: HttpResponse, refusal: Refusal, *, repeats: bool | None = None
    ) -> HttpFailure:
        """Return how the step fails by an answer that is not a good one."""
        again = self.terms.repeats if repeats is None else repeats
        told = replace(
            refusal, said=self.without_secrets(refusal.said),
            reason=self.without_secrets(refusal.reason),
        )  # fmt: skip
        return failure_of(url, answer, self.host.clock.now(), told, repeats=again)

    def without_secrets(self, said: Any) -> Any:
        """Return what a vendor says without the values of the addon's settings."""
        for one in self.hidden if isinstance(said, str) else ():
            said = said.replace(one, "***")
        return said

    def address(self, usual: str) -> str:
        """Return where the vendor is: the setting `endpoint` takes the place of the usual one."""
        return (self.config.get("endpoint") or usual).rstrip("/")

    async def read(self, name: Any) -> bytes:
        """Return a file of the run.

        Raises:
            FlowError: there is none of this name, or it is too large.
        """
        size = await self._folder().size(name) if type(name) is str else None
        if size is None:
            raise FlowError(f"'{self.addon}' found no such file in this run")
        if size > MOST_FILE_BYTES:
            raise FlowError(f"a file of {size:,} bytes, expected at most {MOST_FILE_BYTES:,}")
        return await self._folder().read(name, 0, size)

    async def write(self, name: Any, data: bytes) -> None:
        """Make a file of the run, in the place of one that is there.

        Raises:
            FlowError: this is no name of a file.
            Unavailable: the disk is full, or cannot be written.
        """
        try:
            await self._folder().write(read_file_name(name), data)
        except ValueError as error:
            raise FlowError(str(error)) from None

    def _folder(self) -> Folder:
        if self.folder is None:
            raise FlowError("this run has no files")
        return self.folder


Do = Callable[[Work, Mapping[str, Any]], Awaitable[Any]]
"""Does a step: it is given the parameters that are not null, and returns its result."""


@dataclass(frozen=True, slots=True)
class Addon:
    """An addon that is enabled: its settings with their values, and what it can do.

    Attributes:
        kept: what its file makes of settings and doors when a release is linked (`KEEP`), such as
            keys of a vendor. It holds doors that no job records: what it fetches is no step's.
    """

    config: Mapping[str, str | None]
    steps: Mapping[str, Do]
    kept: Any = None
    hidden: tuple[str, ...] = ()
    """Values of variables among its settings, the longest first."""
    streams: Mapping[str, Callable[[Work, Mapping[str, Any]], Awaitable[Pieces]]] = field(
        default_factory=dict
    )
    """What its steps do where their answer is wanted piece by piece, by those that can."""
    keeps_null: bool = False
    """Its steps are given the parameters that are null, too."""
    probe: Callable[[Work], Awaitable[str]] | None = None
    """Tests its connection, see `_probe.try_connection`."""


def read_file_name(name: Any) -> str:
    """Return the name of a file of the run.

    Raises:
        ValueError: it is none, in words.
    """
    if type(name) is not str or not _FILE(name):
        raise ValueError(
            "expected a file name of letters, digits, '.', '_' and '-', without folders"
        )
    return name


def write_json(body: Any) -> bytes:
    """Return a value as JSON.

    Raises:
        FlowError: it cannot be written so, or is too large.
    """
    check_size([body], MOST_SENT)
    try:
        return _encode(body)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        raise FlowError("a parameter cannot be written as JSON") from None


def read_answer(url: str, answer: HttpResponse) -> Any:
    """Return the JSON of a good answer; None where it has no body.

    Raises:
        AddonFailure: `addon-answer`, it is something else.
    """
    found = read_json(answer)
    if answer.body and found is None and answer.body.strip() != b"null":
        host = urlsplit(url).hostname
        message = f"'{host}' answered {answer.status} with something that is not JSON"
        raise AddonFailure("addon-answer", message)
    return found


def read_json(answer: HttpResponse) -> Any:
    """Return the JSON of an answer; None where it holds none."""
    try:
        found = _decode(answer.body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    check_size([found], 10_000_000)
    return found
