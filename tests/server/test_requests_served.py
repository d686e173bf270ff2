"""Requests to a real server: files, packed answers, keys that count once, and all of it again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from tests.support.patience import wait_for
from tests.support.served import Served, git, make_project

pytestmark = pytest.mark.long

FILES = {
    "functions/try/show.yaml": (
        "query: { name?: string }\nsteps:\n"
        "  - return: { value: { name: '${ query.name }', more: '${ range(900) }' } }\n"
    ),
    "endpoints/try/show.yaml": (
        "method: GET\npath: /try/show\nfunction: try/show\nauthentication: None\nhistory: full\n"
        "description: Shows.\n"
    ),
    "functions/try/take.yaml": "steps:\n  - return: { value: '${ input.file }' }\n",
    "endpoints/try/take.yaml": (
        "method: POST\npath: /try/take\nfunction: try/take\nauthentication: None\n"
        "files: { file: { maxSize: 2MB } }\ndescription: Takes.\nidempotency: true\n"
    ),
    "functions/try/quiet.yaml": "steps:\n  - return: { value: 1 }\n",
    "endpoints/try/quiet.yaml": (
        "method: GET\npath: /try/quiet\nfunction: try/quiet\nauthentication: None\nhistory: off\n"
        "description: Says nothing.\n"
    ),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    box = tmp_path_factory.mktemp("requests")
    repository = make_project(box / "sample")
    for name, text in FILES.items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Try")
    with Served(repository, box / "home") as server:
        server.live()
        yield server


def test_a_file_comes_in_and_is_gone_after_the_answer(served: Served) -> None:
    content = b"%PDF-1.7\n" + bytes(1_500_000)
    reply = served.api.post("/try/take", files={"file": ("../a b.pdf", content, "text/html")})
    assert reply.json() == {
        "path": "upload-1.pdf", "name": "a b.pdf", "size": len(content),
        "contentType": "application/pdf",
    }  # fmt: skip
    (runs,) = [at for at, _, _ in os.walk(served.repository) if at.endswith("/runs")]
    wait_for(lambda: not [name for _, _, names in os.walk(runs) for name in names])


def test_a_file_that_is_too_large_is_refused_before_it_has_come(served: Served) -> None:
    reply = served.api.post("/try/take", files={"file": ("a", bytes(3_500_000))})
    assert reply.status_code == 413


def test_a_key_counts_once_over_http(served: Served) -> None:
    headers = {"idempotency-key": "once"}
    replies = [
        served.api.post("/try/take", files={"file": ("a.txt", b"x")}, headers=headers)
        for _ in range(2)
    ]
    assert [one.headers.get("idempotency-replayed") for one in replies] == [None, "true"]
    assert replies[0].json() == replies[1].json()


def test_an_answer_is_packed_and_not_sent_twice(served: Served) -> None:
    first = served.api.get("/try/show")
    assert first.headers["content-encoding"] == "gzip"
    assert len(first.json()["more"]) == 900
    again = served.api.get("/try/show", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_what_is_kept_can_be_found(served: Served) -> None:
    name = served.api.get("/try/show?name=findme&token=s3cret").headers["x-request-id"]
    served.api.get("/try/quiet")

    def found(*arguments: str) -> list[dict[str, object]]:
        done = served.bbops("requests", "--json", *arguments)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    wait_for(lambda: found("--text", "findme", "--since", "1m"))
    (one,) = found("--text", "findme", "--endpoint", "try/show", "--details")
    assert one["request"] == name
    exchange = one["exchange"]
    assert isinstance(exchange, dict)
    assert exchange["query"] == [["name", "findme"], ["token", "***"]]
    assert "findme" in exchange["output"]
    assert "exchange" not in found("--text", "findme")[0]
    assert not found("--endpoint", "try/quiet")
    assert not found("--until", "2020-01-01T00:00")
    told = served.bbops("requests", "--text", "findme", "--details").stdout
    assert "? name=findme&token=***" in told


def test_a_refused_request_has_its_reason(served: Served) -> None:
    served.api.get("/try/nowhere")
    served.api.post("/try/take", json={"file": 1})

    def printed(*arguments: str) -> str:
        return served.bbops("requests", *arguments).stdout

    wait_for(lambda: "notFound: no such route" in printed("--status", "404"))
    assert "(file: is required)" in printed("--endpoint", "try/take", "--status", "4xx")
    assert printed("--status", "failed") == "no recorded request matches\n"


def test_a_summary_has_counts_and_percentiles(served: Served) -> None:
    def endpoints() -> dict[str, dict[str, int]]:
        ranking = json.loads(served.bbops("requests", "--summary", "--json").stdout)
        return {each["endpoint"]: each["total"] for each in ranking["slowest"]}

    served.api.get("/try/show")
    wait_for(lambda: endpoints().get("try/show"))
    assert endpoints()["try/show"]["classes"]["2xx"] >= 1
    assert "try/show" in served.bbops("requests", "--summary").stdout
    refused = served.bbops("requests", "--summary", "--status", "5xx")
    assert refused.returncode == 2
    assert "does not work with '--status'" in refused.stderr


def test_a_draft_is_asked_what_was_asked_before(served: Served) -> None:
    for name in ("ada", "bob"):
        served.api.get(f"/try/show?name={name}")
    served.api.get("/try/show?api_key=s3cret")
    wait_for(lambda: "name=bob" in served.bbops("requests", "--details").stdout)
    same = served.bbops("replay", "--endpoint", "try/show")
    assert same.returncode == 0, same.stdout + same.stderr
    assert "0 of " in same.stdout
    assert "not replayed: its address holds a secret" in same.stdout
    git(served.repository, "checkout", "-qb", "greeting")
    served.edit("functions/try/show.yaml", "'${ query.name }'", "hello")
    served.commit("Change")
    git(served.repository, "checkout", "-q", "main")
    wait_for(lambda: "greeting" in served.bbops("drafts", "list").stdout)
    done = served.bbops("replay", "--against", "greeting", "--json")
    assert done.returncode == 2, done.stdout + done.stderr
    told = json.loads(done.stdout)
    changed = [one for one in told["asked"] if one["target"] == "/try/show?name=ada"]
    difference = {"at": "/name", "before": "ada", "now": "hello"}
    assert changed[0]["differences"] == [difference]
    assert served.bbops("replay", "--writes").returncode == 1


def test_a_replay_without_kept_requests_names_the_setting_that_keeps_them(served: Served) -> None:
    served.api.get("/try/quiet")
    done = served.bbops("replay", "--endpoint", "try/quiet")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "nothing to replay: no recorded request has its response\n"
        "    hint: write 'history: full' in an endpoint's file; "
        "its requests are recorded from then on\n"
    )


def test_the_address_of_the_api_is_no_control_plane(served: Served) -> None:
    done = served.bbops("status", "--server", served.serving["url"])
    assert (done.returncode, done.stdout) == (2, "")
    assert "is a project's API\n    hint: 'bbops serve' prints" in done.stderr


def test_nothing_that_fits_is_said(served: Served) -> None:
    done = served.bbops("requests", "--path", "/nowhere")
    assert (done.returncode, done.stdout) == (0, "no recorded request matches\n")
