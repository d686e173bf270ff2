"""A draft shares a host with what is live: no answer of it may change what browsers do there."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from bbops_server.data_plane.drafts.pages import MOST_COOKIES, drop_passwords, keep_passing
from tests.support.draft_origin import PLATFORM, TYPES, answering
from tests.support.drafting import answered
from tests.support.hostile_drafts import enter, function, make, push
from tests.support.patience import wait_for
from tests.support.served import Served
from tests.support.several import Several

pytestmark = pytest.mark.long


FILES = {
    name: text
    for kind, media in TYPES.items()
    for name, text in answering(kind, media).items()
} | answering("failing", "text/html", 500)  # fmt: skip


FILES |= function(
    "steps:\n  - return:\n      value: hello\n"
    "      headers: { set-cookie: 'c${ uuid() }=1', cache-control: no-store }\n",
    name="cookie",
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    box = tmp_path_factory.mktemp("origin")
    with Served(make(box / "small"), box / "home") as server:
        server.live()
        push(server, "hostile", FILES)
        yield server


@pytest.fixture(scope="module")
def draft(served: Served) -> Iterator[httpx.Client]:
    with enter(served, "hostile") as client:
        wait_for(lambda: client.get("hello").status_code == 200)
        yield client


def is_kept_to_itself(reply: httpx.Response) -> None:
    assert reply.headers.get_list("content-security-policy") == [
        "sandbox allow-forms allow-scripts allow-popups"
    ]
    assert reply.headers.get_list("x-content-type-options") == ["nosniff"]
    named = {name.lower() for name in PLATFORM} - {"content-security-policy"}
    assert named & {name.lower() for name in reply.headers} == set()


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_an_answer_of_any_type_is_sandboxed_and_speaks_of_itself_alone(
    draft: httpx.Client, kind: str, method: str
) -> None:
    reply = draft.request(method, kind)
    assert (reply.status_code, reply.headers["cache-control"]) == (200, "no-store")
    assert reply.headers["content-type"].startswith(TYPES[kind])
    assert reply.headers["set-cookie"] == "bbops-draft.session=stolen; Path=/~drafts/hostile/"
    is_kept_to_itself(reply)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "failing", 500), ("GET", "nowhere", 404), ("DELETE", "hello", 405),
        ("POST", "notes", 400), ("OPTIONS", "hello", 204),
    ],
)  # fmt: skip
def test_answers_that_no_function_gives_are_sandboxed_too(
    draft: httpx.Client, method: str, path: str, status: int
) -> None:
    reply = draft.request(method, path)
    assert reply.status_code in {status, 404, 405}
    is_kept_to_itself(reply)


def test_what_is_said_to_strangers_is_sandboxed_too(served: Served, draft: httpx.Client) -> None:
    for reply in (
        served.api.get("/~drafts/hostile/hello"),
        served.api.post("/~drafts/hostile/~enter", data={"token": "bbd_1_2"}),
        draft.post("~enter", data={"token": draft.headers["x-draft-token"]}),
    ):
        is_kept_to_itself(reply)


def test_the_live_project_says_what_it_likes(served: Served) -> None:
    reply = served.api.get("/hello")
    assert "content-security-policy" not in reply.headers


def test_an_answer_sets_a_bounded_number_of_cookies() -> None:
    headers = [(b"set-cookie", b"c%d=1" % number) for number in range(500)]
    assert len(keep_passing(headers, b"/~drafts/x")) == MOST_COOKIES
    known = [b"c%d" % number for number in range(490, 500)]
    kept = keep_passing(headers, b"/~drafts/x", known)
    assert len(kept) == MOST_COOKIES  # ten are new, and ten that are there change
    assert kept[-1][1].startswith(b"bbops-draft.c499=")


def test_a_browser_keeps_a_bounded_number_of_cookies_whatever_leads_on(served: Served) -> None:
    with enter(served, "hostile") as client:
        for _ in range(MOST_COOKIES + 10):  # as redirects would, one after the other
            assert client.get("cookie").status_code == 200
        assert len(client.cookies) == MOST_COOKIES


def test_a_header_that_would_become_two_is_left_out() -> None:
    assert keep_passing([(b"Location", b"/a\r\nClear-Site-Data: *")], b"") == []


def test_a_bearer_challenge_passes_and_a_prompt_for_a_password_does_not() -> None:
    challenges = [(b"www-authenticate", b"Bearer"), (b"www-authenticate", b'Basic realm="x"')]
    assert keep_passing([*challenges, (b"www-authenticate", b"Bearer, Basic")], b"") == [
        (b"www-authenticate", b"Bearer")
    ]


def test_a_password_that_a_browser_keeps_for_the_live_host_does_not_reach_a_draft() -> None:
    bearer = (b"authorization", b"Bearer abc")
    assert drop_passwords([(b"authorization", b"Basic YTpi"), bearer]) == [bearer]


# ---- hosts of their own
@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Several]:
    box = tmp_path_factory.mktemp("hosts")
    make(box / "small")
    text = "drafts: { hosts: '*.preview.localhost' }\nprojects: { small: { repository: small } }\n"
    with Several(box, text) as server:
        server.repository = box / "small"
        server.until("live", "small")
        push(server, "hostile", FILES)
        yield server


def token(served: Served, slug: str) -> tuple[httpx.URL, dict[str, str]]:
    made = wait_for(
        lambda: served.control.post(f"/api/projects/small/drafts/{slug}/token", json={}).json()
    )
    url = httpx.URL(made["url"])
    return url, {"x-draft-token": made["token"], "host": url.netloc.decode()}


def test_a_draft_answers_on_a_host_of_its_own(hosted: Several) -> None:
    wait_for(lambda: hosted.control.get("/api/projects/small/drafts").json())
    url, headers = token(hosted, "hostile")
    assert (url.host, url.path) == ("hostile.preview.localhost", "/")
    reply = answered(lambda: hosted.api.get("/svg", headers=headers))
    assert (reply.status_code, reply.headers["x-draft"]) == (200, "hostile")
    assert reply.headers["set-cookie"] == "bbops-draft.session=stolen; Path=/"
    assert "clear-site-data" not in reply.headers
    assert "allow-same-origin" in reply.headers["content-security-policy"]
    closed = hosted.api.get("/svg", headers={"host": url.netloc.decode()})
    assert closed.json()["error"]["code"] == "draftClosed"


def test_below_the_live_host_it_leads_to_its_own(hosted: Several) -> None:
    wait_for(lambda: hosted.control.get("/api/projects/small/drafts").json())
    url, headers = token(hosted, "hostile")
    del headers["host"]
    reply = hosted.api.post("/~drafts/hostile/notes?a=1", headers=headers)
    assert (reply.status_code, reply.headers["location"]) == (307, f"{url}notes?a=1")
    assert "content-security-policy" in reply.headers


def test_a_host_for_drafts_never_answers_what_is_live(hosted: Several) -> None:
    for host in ("gone.preview.localhost", "a.b.preview.localhost"):
        reply = hosted.ask("/hello", host)
        assert (reply.status_code, reply.json()["error"]["code"]) == (404, "notFound")
    assert hosted.ask("/hello", "localhost").json()["version"] == 1
