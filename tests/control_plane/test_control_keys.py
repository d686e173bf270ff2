"""API keys over the control plane: for maintainers, in the audit log, never told twice."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from bbops.interfaces.cli.keys import command
from bbops_server.accounts.rules import Role
from tests.support.control import Tried, tried
from tests.support.statuses import Start, control

__all__ = ["control", "tried"]

PATH = "/api/projects/small/keys"


def test_what_is_done_with_keys_is_on_record_and_no_key_is(tried: Tried) -> None:
    tried.add("max@example.com", project=Role.MAINTAINER)
    browser = tried.as_person("max@example.com")
    browser.get("/account")
    headers = {"x-csrf-token": browser.csrf}
    made = browser.call("POST", PATH, json={"name": "printer"}, headers=headers)
    assert (made.status_code, made.json()) == (201, {"id": "k2", "key": "bk_secret_of_printer"})
    again = browser.call("POST", f"{PATH}/k1/rotate", json={}, headers=headers)
    assert again.json() == {"id": "k3", "key": "bk_after_k1_24h"}
    assert browser.call("POST", f"{PATH}/k1/revoke", headers=headers).json() == {"id": "k1"}
    noted = [(one.action, one.object) for one in tried.book.audit.list(limit=3)]
    assert noted == [
        ("revoke API key", "small k1"),
        ("rotate API key", "small k1 becomes k3"),
        ("issue API key", "small k2 printer"),
    ]
    assert "bk_" not in str(tried.book.audit.list())


def test_the_page_says_when_each_key_was_used(tried: Tried) -> None:
    browser = tried.as_person("ada@example.com")
    assert 'href="/projects/small/keys"' in browser.get("/projects/small").text
    shown = browser.get("/projects/small/keys").text
    assert "bk_abcdef…" in shown
    assert "1970-01-01 00:01" in shown
    tried.add("vic@example.com", project=Role.VIEWER)
    viewer = tried.as_person("vic@example.com")
    assert "/projects/small/keys" not in viewer.get("/projects/small").text
    assert viewer.get("/projects/small/keys").status_code == 403


def test_developers_neither_see_nor_make_keys(tried: Tried) -> None:
    tried.add("dev@example.com", project=Role.DEVELOPER)
    browser = tried.as_person("dev@example.com")
    assert browser.get(PATH).status_code == 403


def test_developers_have_keys_of_drafts_and_viewers_none(tried: Tried) -> None:
    tried.add("dev@example.com", project=Role.DEVELOPER)
    tried.add("vera@example.com", project=Role.VIEWER)
    path = "/api/projects/small/drafts/slug/keys"
    browser = tried.as_person("dev@example.com")
    browser.get("/account")
    headers = {"x-csrf-token": browser.csrf}
    assert [one["used_at"] for one in browser.get(path).json()] == [60.0]
    made = browser.call("POST", path, json={"name": "printer"}, headers=headers)
    assert made.json() == {"id": "k2", "key": "bk_secret_of_printer"}
    again = browser.call("POST", f"{path}/k1/rotate", json={}, headers=headers)
    assert again.json()["id"] == "k3"
    assert browser.call("POST", f"{path}/k1/revoke", headers=headers).json() == {"id": "k1"}
    assert tried.book.audit.list(limit=1)[0].object == "small topic k1"
    assert browser.get("/api/projects/small/drafts/nowhere/keys").status_code == 404
    assert tried.as_person("vera@example.com").get(path).status_code == 403


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": ""}, 400), ({}, 400), ({"name": "a", "expires_in": "soon"}, 400),
        ({"name": "a", "expires_in": "0d"}, 400), ({"name": "a", "claims": 7}, 400),
        ({"name": "a", "channels": ["nowhere"]}, 409), ({"name": "a" * 201}, 400),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(tried: Tried, body: dict[str, object], status: int) -> None:
    browser = tried.as_person("ada@example.com")
    browser.get("/account")
    answer = browser.call("POST", PATH, json=body, headers={"x-csrf-token": browser.csrf})
    assert answer.status_code == status


# ---- the command
LISTED = [
    {"id": "k1", "prefix": "bk_abcdef", "name": "printer", "channels": ["machines"],
     "claims": {}, "created_at": 1.0, "expires_at": 4_102_444_800.0, "revoked_at": None,
     "used_at": 1_700_000_000.0},
    {"id": "k0", "prefix": "bk_000000", "name": "old", "channels": None, "claims": {},
     "created_at": 1.0, "expires_at": None, "revoked_at": 2.0, "used_at": None},
]  # fmt: skip


def test_a_key_alone_goes_to_a_pipe(control: Start) -> None:
    url = control({"POST /api/projects/shop/keys": (201, {"id": "k2", "key": "bk_x"})})
    asked = ["issue", "printer", "--channel", "machines", "--expires", "90d", "--project", "shop"]
    done = CliRunner().invoke(command, [*asked, "--server", url])
    assert (done.exit_code, done.stdout) == (0, "bk_x\n")
    assert done.stderr == "its id is k2; the key itself cannot be shown again\n"


def test_the_list_shows_what_counts_and_all_on_demand(control: Start) -> None:
    url = control({"GET /api/projects/shop/keys": (200, LISTED)})
    given = ["--project", "shop", "--server", url]
    shown = CliRunner().invoke(command, ["list", *given]).stdout
    when = "until 2100-01-01  used 2023-11-14 22:13"
    assert shown == f"bk_abcdef…  {when}  printer  machines  k1\n"
    every = CliRunner().invoke(command, ["list", "--all", "--json", *given]).stdout
    assert json.loads(every) == LISTED
    old = CliRunner().invoke(command, ["list", "--all", *given]).stdout.splitlines()[1]
    assert "revoked           never used             old" in old


def test_a_name_stays_in_its_row(control: Start) -> None:
    url = control({"GET /api/projects/shop/keys": (200, [LISTED[0] | {"name": "a\nbk_fake  b"}])})
    shown = CliRunner().invoke(command, ["list", "--project", "shop", "--server", url]).stdout
    assert "  a\\nbk_fake  b  machines" in shown
    assert len(shown.splitlines()) == 1


def test_the_keys_of_a_draft_are_asked_for_by_its_branch(control: Start) -> None:
    draft = {"branch": "try it", "slug": "try-it-1f", "commit": "a" * 40, "url": "http://x/",
             "state": "awake", "release": "r", "message": "", "diagnostics": []}  # fmt: skip
    url = control({
        "GET /api/projects/shop/drafts": (200, [draft]),
        "POST /api/projects/shop/drafts/try-it-1f/keys": (201, {"id": "k2", "key": "bk_x"}),
        "GET /api/projects/shop/drafts/try-it-1f/keys": (200, LISTED),
    })  # fmt: skip
    given = ["--draft", "try it", "--project", "shop", "--server", url]
    assert CliRunner().invoke(command, ["issue", "printer", *given]).stdout == "bk_x\n"
    assert "k1" in CliRunner().invoke(command, ["list", *given]).stdout
    unknown = CliRunner().invoke(command, ["list", "--draft", "no", *given[2:]])
    assert "has no draft 'no'" in str(unknown.exception)


def test_a_whole_key_never_stands_in_an_address(control: Start) -> None:
    url = control({"POST /api/projects/shop/keys/bk_abcdef/revoke": (200, {"id": "k1"})})
    asked = ["revoke", "bk_abcdefghijklm", "--project", "shop", "--server", url]
    assert CliRunner().invoke(command, asked).stdout == "revoked k1\n"
