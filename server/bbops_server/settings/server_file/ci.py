"""The keys `ci` and `freeze` of a project in `server.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, time
from typing import Annotated, Any, Final, Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from bbops.base.model import Model
from bbops_server.settings.freezes import Freeze, Once, Weekly
from bbops_server.settings.repositories import CiTrust, IssuerKind
from bbops_server.settings.server_file.webhook import check_issuer, wrong_value

GITHUB: Final = "https://token.actions.githubusercontent.com"
GITLAB: Final = "https://gitlab.com"
MAX_TRUSTS: Final = 20
_MAX_ID: Final = 10**18
_REF: Final = re.compile(r"refs/(heads|tags|pull|merge-requests)(/[^\s/*~^:?\[\\\x00-\x1f]+|/\*)+")
_PATH: Final = re.compile(r"[^\s/@\\]+(/[^\s/@\\]+)*\.ya?ml")


def _number(value: Any) -> Any:
    """Return the number in a text from the environment."""
    return int(value) if isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value) else value


def _check_ref(text: str) -> str:
    if not _REF.fullmatch(text) or ".." in text:
        raise wrong_value(
            f"expected a full ref, got '{text}'",
            "such as refs/heads/main, or refs/pull/*/merge, where '*' is one whole segment",
        )
    return text


def _check_workflow(text: str) -> str:
    path, at, ref = text.partition("@")
    if not _PATH.fullmatch(path) or ".." in path or (at and not _names_ref(path, ref)):
        raise wrong_value(
            f"expected the file of a workflow, got '{text}'",
            "such as .github/workflows/bbops.yml,"
            " or owner/name/.github/workflows/bbops.yml@refs/heads/main",
        )
    return text


def _names_ref(path: str, ref: str) -> bool:
    is_commit = re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", ref) is not None
    is_ref = _REF.fullmatch(ref) is not None and "*" not in ref
    return path.count("/") > 1 and (is_commit or is_ref)


Id = Annotated[int, BeforeValidator(_number), Field(ge=1, le=_MAX_ID)]


class TrustedWorkflow(Model):
    """The claims that an identity token needs. `kind` is only needed for a GitLab of your own."""

    issuer: Annotated[str, AfterValidator(check_issuer)] = GITHUB
    kind: IssuerKind | None = None
    repository_id: Id
    owner_id: Id
    ref: Annotated[str, StringConstraints(max_length=250), AfterValidator(_check_ref)] | None = None
    environment: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = None
    workflow: (
        Annotated[str, StringConstraints(max_length=500), AfterValidator(_check_workflow)] | None
    ) = None


def check_kinds(trusted: Iterable[TrustedWorkflow]) -> None:
    """Require one kind for each issuer, whose tokens have the names of claims of that kind.

    Raises:
        PydanticCustomError: an issuer has two.
    """
    kinds: dict[str, IssuerKind] = {}
    for workflow in trusted:
        kind = _kind_of(workflow)
        if kinds.setdefault(workflow.issuer, kind) != kind:
            raise wrong_value(
                f"the issuer '{workflow.issuer}' is both of kind 'github' and of kind 'gitlab'",
                "give it the same 'kind' in each 'ci'",
            )


def _kind_of(workflow: TrustedWorkflow) -> IssuerKind:
    return workflow.kind or ("gitlab" if workflow.issuer == GITLAB else "github")


def read_trusts(project: str, branch: str, trusted: list[TrustedWorkflow]) -> Iterator[CiTrust]:
    """Yield the trusts of a project, whose default ref is the branch that it follows."""
    for workflow in trusted:
        kind = _kind_of(workflow)
        ids = str(workflow.repository_id), str(workflow.owner_id)
        ref = workflow.ref or f"refs/heads/{branch}"
        environment, path = workflow.environment or "", workflow.workflow or ""
        yield CiTrust(project, kind, workflow.issuer, *ids, ref, environment, path)


# ---- What `freeze:` of `server.yaml` may say, and the freezes that it means

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_DAYS: Final[tuple[Day, ...]] = get_args(Day)
_CLOCK: Final = "%H:%M"


def _wrong(message: str, hint: str) -> PydanticCustomError:
    return PydanticCustomError("bad_value", "{message}", {"message": message, "hint": hint})


def _check_zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise _wrong(f"unknown time zone '{text}'", "such as Europe/Berlin, or UTC") from None
    return text


def _check_freeze(one: WrittenFreeze) -> WrittenFreeze:
    is_pair = (one.begins is None) == (one.ends is None)
    if one.days:
        if not is_pair:
            raise _wrong(
                "'from' and 'until' must be given together", "without both, whole days are frozen"
            )
        for text in filter(None, (one.begins, one.ends)):
            _read_clock(text)
    elif one.begins is None or one.ends is None:
        raise _wrong("a freeze has 'days', or 'from' and 'until'", "such as 'days: [fri, sat]'")
    elif _read_moment(one.begins) >= _read_moment(one.ends):
        raise _wrong(
            f"'{one.ends}' is not after '{one.begins}'", "'until' is the end of the freeze"
        )
    elif "zone" in one.model_fields_set:
        raise _wrong(
            "a freeze from one date to another has no 'zone'", "the dates contain their own zone"
        )
    return one


class WrittenFreeze(Model):
    """Times in which nothing new goes live: from a date to a date, or on days of each week."""

    days: list[Day] = []
    begins: Annotated[str | None, Field(alias="from")] = None
    ends: Annotated[str | None, Field(alias="until")] = None
    zone: Annotated[str, AfterValidator(_check_zone)] = "UTC"
    reason: Annotated[str, StringConstraints(max_length=500)] = ""


CheckedFreeze = Annotated[WrittenFreeze, AfterValidator(_check_freeze)]


def read_freeze(one: WrittenFreeze) -> Freeze:
    """Return the freeze of a checked entry."""
    if one.days:
        days = frozenset(map(_DAYS.index, one.days))
        begins, ends = _read_clock(one.begins or "00:00"), _read_clock(one.ends or "24:00")
        return Weekly(days, begins, ends, one.zone, one.reason)
    return Once(_read_moment(one.begins or ""), _read_moment(one.ends or ""), one.reason)


def _read_clock(text: str) -> time:
    """Return a time of the day; the end of a day is the begin of the next."""
    try:
        read = datetime.strptime("00:00" if text == "24:00" else text, _CLOCK)  # noqa: DTZ007 - of a day, in no zone
    except ValueError:
        raise _wrong(f"expected a time of the day, got '{text}'", 'such as "16:00"') from None
    return read.time()


def _read_moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            return found.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise _wrong(
        f"expected a date and time with its zone, got '{text}'",
        "such as 2026-12-24T00:00:00+01:00",
    )
