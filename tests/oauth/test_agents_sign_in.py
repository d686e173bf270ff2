"""Programs of others sign in at a real server: the official client of Python, by every way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import httpx2
import pytest
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from tests.support.oauth_client import hidden
from tests.support.patience import PATIENCE_SECONDS
from tests.support.published import open_site, write_certificate
from tests.support.served import make_project
from tests.support.served_people import set_up
from tests.support.several import Several

pytestmark = pytest.mark.long

REDIRECT = "http://localhost:45555/callback"
FILE = "egress: { allow: [localhost] }\nprojects: { sample: { repository: ./sample } }\n"


class Kept(TokenStorage):
    """What a program keeps of its sign-in."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass
class Person:
    """Somebody with a browser who agrees to everything."""

    browser: httpx.Client
    asked: list[dict[str, list[str]]] = field(default_factory=list)
    told: dict[str, list[str]] = field(default_factory=dict)

    async def go(self, url: str) -> None:
        self.asked.append(parse_qs(urlsplit(url).query))
        await asyncio.to_thread(self._agree, url)

    def _agree(self, url: str) -> None:
        shown = self.browser.get(url)
        assert shown.status_code == 200, shown.text
        form = hidden(shown.text) | {"decision": "approve"}
        answer = self.browser.post("/oauth/authorize", data=form)
        assert answer.headers["location"].startswith(REDIRECT), answer.text
        self.told = parse_qs(urlsplit(answer.headers["location"]).query)

    async def come_back(self) -> AuthorizationCodeResult:
        told = {name: one[0] for name, one in self.told.items()}
        return AuthorizationCodeResult(**told)


@dataclass
class Place:
    """A server, its first person, and the id of a client that has published itself."""

    url: str
    browser: httpx.Client
    published: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("agents")
    make_project(folder / "sample")
    certificate = folder / "localhost.pem"
    write_certificate(certificate)
    trusting = {"SSL_CERT_FILE": str(certificate)}
    with open_site(certificate) as site, Several(folder, FILE, env=trusting) as served:
        served.until("live", "sample")
        with closing(set_up(served)) as browser:
            published = site.publish(redirect_uris=[REDIRECT])
            yield Place(served.serving["control_url"], browser, published)


Use = Callable[[Client], Awaitable[Any]]


def sign_in(
    place: Place, use: Use, *, url: str = "", document: str | None = None, mode: Any = "auto"
) -> tuple[Any, Kept, Person]:
    """Use a server as a program that knows nothing but its address."""
    kept, person = Kept(), Person(place.browser)
    address = url or f"{place.url}/mcp"
    metadata = OAuthClientMetadata(
        client_name="Python", redirect_uris=[AnyUrl(REDIRECT)], token_endpoint_auth_method="none"
    )
    provider = OAuthClientProvider(
        address, metadata, kept, person.go, person.come_back, client_metadata_url=document
    )

    async def run() -> Any:
        async with (
            httpx2.AsyncClient(auth=provider) as http,
            Client(streamable_http_client(address, http_client=http), mode=mode) as client,
        ):
            return await use(client)

    return asyncio.run(run()), kept, person


async def list_projects(client: Client) -> Any:
    await client.call_tool("platform_help", {})
    return (await client.call_tool("project_list", {})).structured_content


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_of_python_registers_and_signs_in_when_a_tool_asks(
    place: Place, mode: str
) -> None:
    found, kept, person = sign_in(place, list_projects, mode=mode)
    assert "sample" in str(found)
    assert kept.tokens is not None
    assert (kept.tokens.scope, kept.tokens.expires_in) == ("project", 3600)
    assert kept.tokens.access_token.startswith("bba_")
    assert [one["scope"] for one in person.asked] == [["project"]]
    assert person.asked[0]["resource"] == [f"{place.url}/mcp"]


def test_it_signs_in_by_what_it_has_published(place: Place) -> None:
    found, kept, _ = sign_in(place, list_projects, document=place.published)
    assert "sample" in str(found)
    assert kept.client is not None
    assert kept.client.client_id == place.published


def test_a_tool_that_takes_more_asks_the_person_again(place: Place) -> None:
    async def use(client: Client) -> Any:
        await list_projects(client)
        return await client.call_tool("account_setup", {"company": "Engines"})

    _, kept, person = sign_in(place, use)
    assert len(person.asked) == 2
    assert kept.tokens is not None
    assert kept.tokens.scope == "project builder"


def test_a_projects_own_address_is_signed_in_at(place: Place) -> None:
    async def select(client: Client) -> Any:
        return (
            await client.call_tool("project_select", {"projectId": "sample"})
        ).structured_content

    async def read(client: Client) -> Any:
        return await client.list_tools()

    found, _, _ = sign_in(place, select)
    address = found["mcpUrl"]
    tools, _, person = sign_in(place, read, url=address)
    assert "context_get" in {tool.name for tool in tools.tools}
    assert person.asked[0]["resource"] == [address]


def test_tokens_are_refreshed_and_given_back(place: Place) -> None:
    _, kept, _ = sign_in(place, list_projects)
    assert kept.tokens is not None
    assert kept.client is not None
    client = {"client_id": kept.client.client_id}
    form = client | {"grant_type": "refresh_token", "refresh_token": kept.tokens.refresh_token}
    told = httpx.post(f"{place.url}/oauth/token", data=form, timeout=PATIENCE_SECONDS).json()
    revoked = client | {"token": told["access_token"]}
    given = httpx.post(f"{place.url}/oauth/revoke", data=revoked, timeout=PATIENCE_SECONDS)
    assert given.status_code == 200
    again = httpx.post(f"{place.url}/oauth/token", data=form, timeout=PATIENCE_SECONDS)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")


def test_the_client_of_python_looks_at_jobs_and_cancels_one(place: Place) -> None:
    async def select(client: Client) -> Any:
        chosen = await client.call_tool("project_select", {"projectId": "sample"})
        return chosen.structured_content

    async def work(client: Client) -> Any:
        listed = await client.call_tool("work_list", {})
        cancelled = await client.call_tool("work_cancel", {"job": "tasks/none@1"})
        return listed.structured_content, cancelled.is_error, str(cancelled.content)

    found, _, _ = sign_in(place, select)
    (listed, is_error, words), kept, _ = sign_in(place, work, url=found["mcpUrl"])
    assert listed["jobs"] == []
    assert (is_error, "there is no job 'tasks/none@1'" in words) == (True, True)
    assert kept.tokens is not None
    assert {"data", "builder"} <= set((kept.tokens.scope or "").split())
