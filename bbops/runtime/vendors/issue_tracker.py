"""issueTracker, in the shapes of Jira's REST API 3."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET

from bbops.base.host import HttpResponse
from bbops.runtime.values.outside import Refusal
from bbops.runtime.vendors._parts import basic, segment, text_at
from bbops.runtime.vendors._work import AddonFailure, Work

_PAGE, _LIMIT, _MOST_ISSUES = 100, 50, 1_000
_ALL_FIELDS: Final = ["*navigable"]
"""Without it only ids are given."""

_DOCUMENTS: Final = frozenset({"description", "environment"})
"""Fields whose text is a document there."""


async def create_issue(work: Work, given: Mapping[str, Any]) -> Any:
    """Open an issue in a project."""
    fields: dict[str, Any] = {
        "project": {"key": given["projectKey"]}, "issuetype": {"name": given["issueType"]},
        "summary": given["summary"],
    }  # fmt: skip
    if given.get("description"):
        fields["description"] = _document(given["description"])
    if given.get("priority"):
        fields["priority"] = {"name": given["priority"]}
    if given.get("assigneeAccountId"):
        fields["assignee"] = {"accountId": given["assigneeAccountId"]}
    return await _ask(work, "POST", "issue", {"fields": fields})


async def update_issue(work: Work, given: Mapping[str, Any]) -> Any:
    """Change fields of an issue; the vendor answers nothing."""
    fields = {
        name: _document(value) if name in _DOCUMENTS and isinstance(value, str) else value
        for name, value in given["fields"].items()
    }
    await _ask(work, "PUT", f"issue/{segment(given['issueKey'], 'issueKey')}", {"fields": fields})
    return {"key": given["issueKey"]}


async def search_issues(work: Work, given: Mapping[str, Any]) -> Any:
    """Find issues, page by page; `nextPageToken` is null where these are all."""
    wanted = min(given.get("maxResults", _LIMIT), _MOST_ISSUES)
    issues, token = list[Any](), None
    while len(issues) < wanted:
        body = {
            "jql": given["jql"], "maxResults": min(_PAGE, wanted - len(issues)),
            "fields": given.get("fields") or _ALL_FIELDS,
        }  # fmt: skip
        if token:
            body["nextPageToken"] = token
        found = await _ask(work, "POST", "search/jql", body)
        if not isinstance(found, dict) or not isinstance(found.get("issues"), list):
            raise AddonFailure("addon-answer", "the vendor returned no list of issues")
        issues += found["issues"]
        token = text_at(found, "nextPageToken")
        if token is None or not found["issues"]:
            break
    return {"issues": issues[:wanted], "nextPageToken": token}


async def transition_issue(work: Work, given: Mapping[str, Any]) -> Any:
    """Move an issue to another state; the vendor answers nothing."""
    path = f"issue/{segment(given['issueKey'], 'issueKey')}/transitions"
    await _ask(work, "POST", path, {"transition": {"id": str(given["transitionId"])}})
    return {"key": given["issueKey"]}


def _document(text: Any) -> Any:
    """Return a text as a document: paragraphs, and breaks in them; a map is one already."""
    if not isinstance(text, str):
        return text
    paragraphs = []
    for block in re.split(r"\n{2,}", text.strip("\n")):
        content: list[dict[str, Any]] = []
        for number, line in enumerate(block.split("\n")):
            content += [{"type": "hardBreak"}] if number else []
            content += [{"type": "text", "text": line}] if line else []
        paragraphs.append({"type": "paragraph", "content": content})
    return {"type": "doc", "version": 1, "content": paragraphs}


async def _ask(work: Work, method: str, path: str, body: Any) -> Any:
    url = f"{work.setting('instanceUrl').rstrip('/')}/rest/api/3/{path}"
    headers = basic(work.setting("email"), work.setting("apiToken"))
    headers |= {"accept": "application/json"}
    return await work.ask(method, url, headers, body, refusal=_refusal)


def _refusal(_: HttpResponse, found: Any) -> Refusal:
    """Its errors are a list of texts, and a map of them by field."""
    fields = found.get("errors") if isinstance(found, dict) else None
    by_field = fields if isinstance(fields, dict) else {}
    said = text_at(found, "errorMessages", 0)
    if said is None and by_field:
        name, text = next(iter(by_field.items()))
        said = f"{name}: {text}"
    return Refusal(said, next(iter(by_field), None))


async def probe(work: Work) -> str:
    """Return whose token it is."""
    return text_at(await _ask(work, "GET", "myself", UNSET), "displayName") or ""


STEPS: Final = {
    "createIssue": create_issue,
    "updateIssue": update_issue,
    "searchIssues": search_issues,
    "transitionIssue": transition_issue,
}
PROBE: Final = probe
