"""codeHosting, in the shapes of GitHub's REST API of 2026-03-10."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from bbops.base.host import HttpResponse
from bbops.runtime.values.outside import Refusal
from bbops.runtime.vendors._parts import bearer, pick, segment, text_at
from bbops.runtime.vendors._work import AddonFailure, Work, read_answer

_ADDRESS: Final = "https://api.github.com"
_VERSION: Final = "2026-03-10"
_PAGE, _MOST_ISSUES = 100, 1_000
_NEXT: Final = re.compile(r'<([^<>]{1,2000})>;[^,<>]{0,200}rel="next"').search


async def create_issue(work: Work, given: Mapping[str, Any]) -> Any:
    """Open an issue."""
    body = pick(given, "title", "body", "labels", "assignees")
    return await _ask(work, "POST", f"{_repository(given)}/issues", body)


async def list_issues(work: Work, given: Mapping[str, Any]) -> Any:
    """List issues, newest first; the vendor counts pull requests among them, which are left out."""
    query = urlencode(pick(given, "state", "labels") | {"per_page": _PAGE})
    url = f"{work.address(_ADDRESS)}{_repository(given)}/issues?{query}"
    found = list[Any]()
    for _ in range(_MOST_ISSUES // _PAGE):
        answer = await work.accept("GET", url, _headers(work), refusal=_refusal)
        page = read_answer(url, answer)
        if not isinstance(page, list):
            raise AddonFailure("addon-answer", "the vendor returned no list of issues")
        found += [one for one in page if isinstance(one, dict) and "pull_request" not in one]
        following = _NEXT(answer.headers.get("link", "")[:10_000])
        if following is None or not _is_same(following[1], url):
            break
        url = following[1]
    return found


async def create_comment(work: Work, given: Mapping[str, Any]) -> Any:
    """Comment on an issue."""
    path = f"{_repository(given)}/issues/{segment(given['issueNumber'], 'issueNumber')}/comments"
    return await _ask(work, "POST", path, {"body": given["body"]})


def _repository(given: Mapping[str, Any]) -> str:
    return f"/repos/{segment(given['owner'], 'owner')}/{segment(given['repo'], 'repo')}"


def _is_same(url: str, other: str) -> bool:
    """Return whether two addresses are of one server: keys go to no other."""
    return urlsplit(url)[:2] == urlsplit(other)[:2]


def _headers(work: Work) -> dict[str, str]:
    wanted = {"accept": "application/vnd.github+json", "x-github-api-version": _VERSION}
    return bearer(work.setting("accessToken")) | wanted


async def _ask(work: Work, method: str, path: str, body: Any) -> Any:
    url = f"{work.address(_ADDRESS)}{path}"
    return await work.ask(method, url, _headers(work), body, refusal=_refusal)


def _refusal(answer: HttpResponse, found: Any) -> Refusal:
    """A 403 is a limit where it says when to come back, and a lack of rights where it does not."""
    is_limit = answer.status == 403 and (
        "retry-after" in answer.headers or answer.headers.get("x-ratelimit-remaining") == "0"
    )
    reason = text_at(found, "errors", 0, "code")
    return Refusal(text_at(found, "message"), reason, passes=True if is_limit else None)


async def probe(work: Work) -> str:
    """Ask how much of the token's limit is left."""
    url = f"{work.address(_ADDRESS)}/rate_limit"
    await work.ask("GET", url, _headers(work), refusal=_refusal)
    return ""


STEPS: Final = {
    "createIssue": create_issue,
    "listIssues": list_issues,
    "createComment": create_comment,
}
PROBE: Final = probe
