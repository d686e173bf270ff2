"""Clients that publish what they are: read with care, kept for an hour, never believed beyond."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bbops_server.accounts.rules import Role
from bbops_server.mcp.oauth.client import OddClient, read_document
from bbops_server.process.host.egress import EgressPolicy
from tests.support.control import Tried
from tests.support.oauth_client import Program
from tests.support.published import Site, site

__all__ = ["site"]

HERE = EgressPolicy(["localhost"])


@pytest.fixture
def tried(tmp_path: Path, site: Site) -> Iterator[Tried]:
    tried = Tried(tmp_path, egress=("localhost",))
    tried.add("ada@example.com", Role.OWNER)
    yield tried
    tried.close()


def read(address: str, egress: EgressPolicy = HERE) -> str:
    """Return a document's name, or why it is refused."""
    try:
        return asyncio.run(read_document(address, egress)).client_name
    except OddClient as odd:
        return odd.description


# ---- signing in
def test_a_client_signs_in_by_what_it_publishes(tried: Tried, site: Site) -> None:
    agent, ada = Program(tried), tried.as_person("ada@example.com")
    agent.id = site.publish()
    page = ada.get(agent.path()).text
    assert "Published Robot" in page
    assert site.url.removeprefix("https://") in page
    assert agent.sign_in(ada)["token_type"] == "Bearer"
    assert tried.book.grants.list(tried.book.people.list()[0].id)[0].client == agent.id


def test_a_document_is_read_once_an_hour(tried: Tried, site: Site) -> None:
    agent, ada = Program(tried), tried.as_person("ada@example.com")
    agent.id = site.publish()
    for _ in range(3):
        assert ada.get(agent.path()).status_code == 200
    assert site.asked == ["/client.json"]
    found = tried.book.clients.find(agent.id)
    assert found is not None
    assert not tried.book.clients.is_fresh(found, timedelta(0))


def test_nobody_unknown_lets_the_server_ask_for_anything(tried: Tried, site: Site) -> None:
    agent = Program(tried)
    agent.id = site.publish()
    tried.browser().get(agent.path())
    agent.token(grant_type="authorization_code", code="bbc_x")
    agent.web.call("POST", "/oauth/device_authorization", data={"client_id": agent.id})
    assert site.asked == []


def test_what_cannot_be_read_is_said_on_a_page(tried: Tried, site: Site) -> None:
    agent, ada = Program(tried), tried.as_person("ada@example.com")
    agent.id = f"{site.url}/none.json"
    answer = ada.get(agent.path())
    assert (answer.status_code, "location" in answer.headers) == (400, False)
    assert "cannot be read" in answer.text


def test_a_server_may_read_no_documents(tmp_path: Path, site: Site) -> None:
    tried = Tried(tmp_path, egress=("localhost",), reads_clients=False)
    tried.add("ada@example.com", Role.OWNER)
    told = tried.browser().get("/.well-known/oauth-authorization-server").json()
    assert told["client_id_metadata_document_supported"] is False
    agent = Program(tried)
    agent.id = site.publish()
    assert tried.as_person("ada@example.com").get(agent.path()).status_code == 400
    assert site.asked == []
    tried.close()


# ---- what it says
@pytest.mark.parametrize("changes", [
    {"client_id": "https://other.example/client.json"}, {"client_id": None}, {"client_name": ""},
    {"client_name": "a\u202eb"}, {"redirect_uris": []}, {"redirect_uris": ["javascript:x"]},
    {"redirect_uris": ["https://*.example/"]}, {"redirect_uris": "https://a.example/"},
    {"token_endpoint_auth_method": "client_secret_post"}, {"client_secret": "x"},
])  # fmt: skip
def test_a_document_that_says_something_odd_is_refused(site: Site, changes: Any) -> None:
    assert read(site.publish()) == "Published Robot"
    assert read(site.publish(**changes)) not in {"Published Robot", ""}


# ---- how it is read
@pytest.mark.parametrize("page", [
    (200, {}, b"[]"), (200, {}, b"{"), (200, {}, b"[" * 4_000), (404, {}, b"{}"),
    (200, {}, b" " * 5_121), (200, {"content-encoding": "gzip"}, gzip.compress(b" " * 10_000_000)),
    (200, {"content-length": "99"}, b"{}"), (500, {}, b"{}"), (200, {}, b"\xff"),
    (204, {}, b""),
])  # fmt: skip
def test_only_a_small_whole_answer_is_read(site: Site, page: tuple[int, Any, bytes]) -> None:
    site.pages["/client.json"] = page
    assert "client metadata document" in read(f"{site.url}/client.json")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(site: Site, status: int) -> None:
    address = site.publish("/other.json", client_id=f"{site.url}/client.json")
    site.pages["/client.json"] = (status, {"location": address}, b"")
    assert "cannot be read" in read(f"{site.url}/client.json")
    assert site.asked == ["/client.json"]


@pytest.mark.parametrize("address", [
    "http://localhost/client.json", "https://localhost", "https://localhost/", "https://u@localhost/x",
    "https://localhost/x#y", "https://localhost/x?y", "https://localhost/../x", "https://localhost/a/./b",
    "https://localhost:99999/x", "https://localhost/" + "x" * 600, "https:///x", "https://[/x",
    "https://localhost\\@evil.example/x", "https://localhost/x y", "file:///etc/passwd", "https://ä/x",
])  # fmt: skip
def test_only_a_plain_address_is_asked(address: str) -> None:
    assert "must be an https URL" in read(address)


@pytest.mark.parametrize("host", [
    "127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0",
    "2130706433", "0x7f.1", "localhost",
])  # fmt: skip
def test_nothing_of_this_network_is_asked(site: Site, host: str) -> None:
    port = site.server_address[1]
    assert "cannot be read" in read(f"https://{host}:{port}/client.json", EgressPolicy())
    assert site.asked == []


def test_a_name_that_changes_its_mind_is_asked_where_it_was_looked_up(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = site.server_address[1]
    looked: list[str] = []
    answers = ["192.0.2.1", "127.0.0.1"]  # of no use, then ours

    async def look_up(self: Any, host: str, *_: Any, **__: Any) -> Any:
        looked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answers[len(looked) - 1], port))]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", look_up)
    assert "cannot be read" in read(f"https://rebind.example:{port}/client.json", EgressPolicy())
    assert (looked, site.asked) == (["rebind.example"], [])


def test_a_certificate_is_held_against_the_name(site: Site) -> None:
    port = site.server_address[1]
    site.publish(client_id=f"https://127.0.0.1:{port}/client.json")
    assert "cannot be read" in read(
        f"https://127.0.0.1:{port}/client.json", EgressPolicy(["127.0.0.1"])
    )
    assert site.asked == []


def test_what_is_kept_is_what_was_checked(tried: Tried, site: Site) -> None:
    agent, ada = Program(tried), tried.as_person("ada@example.com")
    agent.id = site.publish(logo_uri="https://evil.example/x.png", grant_types=["password", "x"])
    ada.get(agent.path())
    found = tried.book.clients.find(agent.id)
    assert found is not None
    assert set(json.loads(found.metadata)) <= {"client_name", "redirect_uris", "grant_types"}
