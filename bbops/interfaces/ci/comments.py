"""The one comment of a proposal that `bbops ci report` keeps up to date.

A hidden marker names the project. A comment of another user is never changed, even with the marker.
Source: docs.github.com, "REST API endpoints for issue comments"; Gitea and Forgejo have the same
paths under /api/v1; docs.gitlab.com, "Notes API".
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import quote

from bbops.base.addresses import is_here
from bbops.base.errors import BbopsError
from bbops.base.host import HttpRequest, HttpResponse
from bbops.interfaces.ci.run import CiRun
from bbops.interfaces.client.external import ExternalClient
from bbops.runtime.values.failures import HttpFailure

CommentState = Literal["created", "updated", "unchanged"]

TOKENS: Final = {
    "github": ("GITHUB_TOKEN",), "gitea": ("GITEA_TOKEN", "GITHUB_TOKEN"),
    "forgejo": ("FORGEJO_TOKEN", "GITHUB_TOKEN"), "gitlab": ("GITLAB_TOKEN",),
}  # fmt: skip
"""The variables that hold the job's token, by the name of the forge."""

_GITHUB_API: Final = "https://api.github.com"
_BOTS: Final = frozenset({"github-actions[bot]", "gitea-actions", "forgejo-actions"})
_SECONDS: Final = 30.0
_PER_PAGE: Final = 100
_MAX_PAGES: Final = 20
_FORBIDDEN: Final = frozenset({403, 404})


class CommentForbidden(BbopsError):
    """The token of the job may not write comments."""


@dataclass(frozen=True, slots=True)
class CommentApi:
    """The addresses and headers for the comments of one proposal.

    Attributes:
        listing: lists comments, and creates them with POST.
        single: the address of a comment, without its id.
        method: changes a comment.
        user: the address of the token's user.
        headers: with the token.
    """

    listing: str
    single: str
    method: Literal["PATCH", "PUT"]
    user: str
    headers: Mapping[str, str]


def find_token(run: CiRun, env: Mapping[str, str]) -> str:
    """Return the token of the job; empty without one.

    Raises:
        BbopsError: the CI system has no comments, or the token is not valid.
    """
    if run.forge not in TOKENS:
        hint = "leave '--comment' out; '--output FILE' writes the report to a file"
        message = "comments need a job of GitHub, Gitea, Forgejo or GitLab"
        raise BbopsError(message, hint=hint)
    name = next((name for name in TOKENS[run.forge] if env.get(name)), "")
    token = env.get(name, "").strip()
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise BbopsError(f"{name} is not a valid token: it contains spaces or other characters")
    return token


def open_api(run: CiRun, token: str) -> CommentApi:
    """Return the addresses for the comments of the run's proposal.

    Raises:
        BbopsError: the CI system did not name its API, or the token would be sent without https.
    """
    api = run.api or (_GITHUB_API if run.forge == "github" else "")
    if not api or not run.repository:
        raise BbopsError("the CI job does not name the repository and the API of its forge")
    if api.startswith("http:") and not is_here(api):
        raise BbopsError(f"a token is not sent to '{api}' without https")
    if run.forge == "gitlab":
        notes = f"{api}/projects/{quote(run.repository, safe='')}/merge_requests/{run.number}/notes"
        headers = {"private-token": token}
        return CommentApi(notes, notes, "PUT", f"{api}/user", headers)
    issues = f"{api}/repos/{run.repository}/issues"
    scheme = "Bearer" if run.forge == "github" else "token"
    headers = {"authorization": f"{scheme} {token}"}
    if run.forge == "github":
        headers |= {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"}
    return CommentApi(
        f"{issues}/{run.number}/comments", f"{issues}/comments", "PATCH", f"{api}/user", headers
    )


def upsert_comment(api: CommentApi, marker: str, digest: str, body: str) -> CommentState:
    """Create the comment, or change it if its digest differs.

    Args:
        api: as `open_api` returns it.
        marker: the beginning of the comment.
        digest: a text in the comment that changes with its content.
        body: the comment, with both.

    Raises:
        CommentForbidden: the token may not read or write comments.
        BbopsError: the forge cannot be reached, or rejects the request.
    """
    return asyncio.run(_upsert(api, marker, digest, body))


async def _upsert(api: CommentApi, marker: str, digest: str, body: str) -> CommentState:
    client = _CommentClient(api)
    try:
        comment = await client.find(marker)
        if comment is None:
            await client.send("POST", api.listing, {"body": body})
            return "created"
        if digest in comment["body"]:
            return "unchanged"
        await client.send(api.method, f"{api.single}/{comment['id']}", {"body": body})
        return "updated"
    finally:
        await client.close()


class _CommentClient:
    def __init__(self, api: CommentApi) -> None:
        self._api, self._client = api, ExternalClient()

    async def close(self) -> None:
        await self._client.close()

    async def find(self, marker: str) -> dict[str, Any] | None:
        """Return the first comment of the token's user that begins with a marker."""
        seen, login = set[int](), ""
        for page in range(1, _MAX_PAGES + 1):
            url = f"{self._api.listing}?per_page={_PER_PAGE}&page={page}"
            comments = _comments(await self.send("GET", url))
            new = [comment for comment in comments if comment["id"] not in seen]
            for comment in new:
                if comment["body"].startswith(marker):
                    login = login or await self._login()
                    if _is_own(comment, login):
                        return comment
            seen |= {comment["id"] for comment in new}
            if len(comments) < _PER_PAGE or not new:  # Gitea returns all comments at once
                return None
        return None

    async def _login(self) -> str:
        """Return the login of the token's user; `-` for a job's token, which has no user."""
        response = await self._request("GET", self._api.user, None)
        user = _decode(response) if response.status == 200 else None
        found = user.get("login") or user.get("username") if isinstance(user, dict) else None
        return found if isinstance(found, str) and found else "-"

    async def send(self, method: str, url: str, body: Any = None) -> Any:
        """Return the JSON of a response. Raises as `upsert_comment`."""
        response = await self._request(method, url, body)
        if 200 <= response.status < 300:
            return _decode(response)
        where = f"{method} {url.partition('?')[0]}"
        if response.status in _FORBIDDEN:
            raise CommentForbidden(f"the job may not comment: {where} answered {response.status}")
        hint = "the token has expired, or is not valid" if response.status == 401 else ""
        raise BbopsError(f"cannot comment: {where} answered {response.status}", hint=hint)

    async def _request(self, method: str, url: str, body: Any) -> HttpResponse:
        headers = {"user-agent": "bbops", "accept": "application/json", **self._api.headers}
        data = b""
        if body is not None:
            headers["content-type"] = "application/json"
            data = json.dumps(body).encode()
        try:
            return await self._client.send(HttpRequest(method, url, headers, data, _SECONDS))
        except (HttpFailure, ValueError) as failure:
            raise BbopsError(f"cannot comment: {failure}") from None


def _decode(response: HttpResponse) -> Any:
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError):
        raise BbopsError("cannot comment: the forge did not answer with JSON") from None


def _comments(value: Any) -> list[dict[str, Any]]:
    """Return the comments of a list that have an id and a text."""
    listed = value if isinstance(value, list) else []
    return [
        comment for comment in listed
        if isinstance(comment, dict)
        and type(comment.get("id")) is int and isinstance(comment.get("body"), str)
    ]  # fmt: skip


def _is_own(comment: Mapping[str, Any], login: str) -> bool:
    author = comment.get("user") or comment.get("author") or {}
    name = author.get("login") or author.get("username")
    if login != "-":
        return bool(name == login)
    return author.get("type") == "Bot" or name in _BOTS
