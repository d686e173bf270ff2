"""codeHosting, held against PyGithub."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.vendors.scenario import CANARY, Scenario, Vendor
from tests.vendors.stand_in import Answer


def asking(request: Callable[[Any], object]) -> Callable[[str], object]:
    """Return what asks the library for a repository at an address."""

    def ask(url: str) -> object:
        import github  # noqa: PLC0415 - of the extra 'vendors'

        token = github.Auth.Token(CANARY)
        with github.Github(auth=token, base_url=url, retry=0, lazy=True) as client:
            return request(client.get_repo("o/r"))

    return ask


ISSUE = {
    "id": 1, "number": 7, "title": "t", "body": "b", "state": "open", "html_url": "https://x/7",
    "labels": [], "assignees": [], "user": {"login": "u"}, "created_at": "2026-01-02T03:04:05Z",
}  # fmt: skip
COMMENT = {"id": 2, "body": "c", "html_url": "https://x/c", "created_at": "2026-01-02T03:04:05Z"}
HEADERS = {
    "authorization": "the library sends 'token' instead of 'Bearer'",
    "x-github-api-version": "the library sends 2022-11-28",
    "accept": "the library accepts any JSON",
}
PULLED = ISSUE | {"pull_request": {"url": "https://x/p"}}

VENDOR = Vendor(
    "codeHosting",
    "accessToken: ${ env.CODE_TOKEN }\nendpoint: URL",
    {"CODE_TOKEN": CANARY},
    (
        Scenario(
            "codeHosting.createIssue:"
            " { owner: o, repo: r, title: t, body: b, labels: [x], assignees: [y] }",
            asking(lambda of: of.create_issue("t", body="b", labels=["x"], assignees=["y"])),
            Answer(201, ISSUE), ISSUE, HEADERS,
        ),
        Scenario(
            "codeHosting.listIssues: { owner: o, repo: r, state: all, labels: 'a,b' }",
            asking(lambda of: list(of.get_issues(state="all", labels=["a", "b"]))),
            Answer(body=[ISSUE, PULLED]), [ISSUE],
            HEADERS | {"query": "the library sends no page size"},
        ),
        Scenario(
            "codeHosting.createComment: { owner: o, repo: r, issueNumber: 7, body: c }",
            asking(lambda of: of.get_issue(7).create_comment("c")),
            Answer(201, COMMENT), COMMENT, HEADERS,
        ),
    ),
    headers=("authorization", "x-github-api-version", "accept"),
    refusal={"message": "Validation Failed", "errors": [{"code": "missing_field"}]},
    words="Validation Failed",
    reason="missing_field",
)  # fmt: skip
