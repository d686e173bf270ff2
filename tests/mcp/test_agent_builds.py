"""An agent that knows one address builds an endpoint: from discovery to the way back.

Everything it uses it was told by the server before: addresses, names of tools, next calls.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import httpx
import pytest

from bbops_server.accounts.people import NewPerson
from bbops_server.accounts.rules import Role, Scope
from tests.support.browser import opened
from tests.support.control import HASH, PASSWORD
from tests.support.oauth_client import hidden
from tests.support.patience import PATIENCE_SECONDS
from tests.support.pushing import World

PERSON = "grace@example.com"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
CLOSE = "You can close this page"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("world")) as world:
        made = world.book.people.add(NewPerson(PERSON, "Grace", password_hash=HASH))
        world.book.members.set_role(made.id, Role.DEVELOPER, "shop")
        yield world


class Agent:
    """Knows an address; speaks MCP and OAuth over plain HTTP. Use it in a `with` block."""

    def __init__(self, url: str) -> None:
        self.url, self.token, self.scopes, self.number = url, "", set[str](), 0
        self.web = httpx.Client(timeout=60)
        self.told: dict[str, Any] = {}
        self.client_id = ""
        self.sign_in: Callable[[str], str] = lambda _: pytest.fail("nobody signs in")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.web.close()

    # ---- MCP
    def send(self, method: str, params: Any) -> httpx.Response:
        self.number += 1
        headers = {"accept": "application/json, text/event-stream"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        body = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        return self.web.post(self.url, json=body, headers=headers)

    def ask(self, method: str, params: Any = None) -> Any:
        """Ask; sign in where that is what is missing, as a client does."""
        answer = self.send(method, params or {})
        if answer.status_code in {401, 403}:
            self.answer_challenge(answer)
            answer = self.send(method, params or {})
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    def call(self, tool: str, **arguments: Any) -> Any:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return result["structuredContent"]

    def follow(self, given: Any, tool: str, **more: Any) -> Any:
        """Make a call that a result has named as the next one."""
        (found,) = [one for one in given["next"] if one["tool"] == tool]
        return self.call(tool, **found["arguments"] | more)

    def refused(self, tool: str, **arguments: Any) -> str:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert result["isError"]
        return str(result["content"][0]["text"])

    # ---- OAuth
    def answer_challenge(self, answer: httpx.Response) -> None:
        asked = dict(CHALLENGE.findall(answer.headers["www-authenticate"]))
        resource = self.web.get(asked["resource_metadata"]).json()
        issuer = resource["authorization_servers"][0]
        self.told = self.web.get(f"{issuer}/.well-known/oauth-authorization-server").json()
        assert self.told["issuer"] == issuer
        self.scopes |= set(asked["scope"].split())
        self.resource = resource["resource"]
        self.token = self.sign_in(" ".join(sorted(self.scopes)))

    def register(self, *redirects: str) -> None:
        if not self.client_id:
            grants = ["authorization_code", "refresh_token", DEVICE]
            made = self.web.post(self.told["registration_endpoint"], json={
                "client_name": "Scripted agent", "redirect_uris": redirects,
                "token_endpoint_auth_method": "none", "grant_types": grants,
            })  # fmt: skip
            assert made.status_code == 201, made.text
            self.client_id = made.json()["client_id"]

    def take(self, **form: str) -> httpx.Response:
        return self.web.post(self.told["token_endpoint"], data={"client_id": self.client_id} | form)


# ---- two ways to sign a person in
def by_device(agent: Agent) -> Callable[[str], str]:
    """Show a code; a person types it on a page of the server, in a browser of their own."""

    def sign_in(scope: str) -> str:
        agent.register("http://127.0.0.1/unused")
        begun = agent.web.post(agent.told["device_authorization_endpoint"], data={
            "client_id": agent.client_id, "scope": scope, "resource": agent.resource,
        }).json()  # fmt: skip
        form = {"grant_type": DEVICE, "device_code": begun["device_code"]}
        assert agent.take(**form).json()["error"] == "authorization_pending"
        _type_code(begun["verification_uri"], begun["user_code"])
        time.sleep(begun["interval"])
        told = agent.take(**form).json()
        return str(told["access_token"])

    return sign_in


def _type_code(url: str, code: str) -> None:
    with httpx.Client(
        headers={"accept": "text/html"}, follow_redirects=True, timeout=PATIENCE_SECONDS
    ) as person:
        page = person.get(url, params={"user_code": code})
        if "password" in page.text:
            form = hidden(page.text) | {"email": PERSON, "password": PASSWORD}
            page = person.post(urljoin(url, "/signin"), data=form)
        assert "Scripted agent" in page.text, page.text
        done = person.post(url, data=hidden(page.text) | {"decision": "approve"})
        assert done.status_code == 200, done.text


def by_browser(agent: Agent, page: Any) -> Callable[[str], str]:
    """Send Chromium to the server's page, and wait for its answer on a port of this machine."""

    def sign_in(scope: str) -> str:
        with Callback() as callback:
            agent.register(callback.url)
            verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(16)
            digest = sha256(verifier.encode()).digest()
            page.goto(agent.told["authorization_endpoint"] + "?" + urlencode({
                "response_type": "code", "client_id": agent.client_id, "state": state,
                "redirect_uri": callback.url, "scope": scope, "resource": agent.resource,
                "code_challenge_method": "S256",
                "code_challenge": urlsafe_b64encode(digest).decode().rstrip("="),
            }))  # fmt: skip
            if page.get_by_label("Password").count():
                page.get_by_label("E-mail address").fill(PERSON)
                page.get_by_label("Password").fill(PASSWORD)
                page.get_by_role("button", name="Sign in").click()
            page.get_by_role("heading", name="Give an agent access").wait_for()
            assert "Scripted agent" in page.inner_text("main")
            page.get_by_role("button", name="Give access").click()
            page.get_by_text(CLOSE).wait_for()
            found = callback.found
        assert (found["state"], found["iss"]) == (state, agent.told["issuer"])
        told = agent.take(
            grant_type="authorization_code", code=found["code"], redirect_uri=callback.url,
            code_verifier=verifier, resource=agent.resource,
        ).json()  # fmt: skip
        return str(told["access_token"])

    return sign_in


class Callback:
    """Where the browser comes back to; the same port each time, for it is registered once."""

    port = 0

    def __enter__(self) -> Self:
        outer = self

        class Answering(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.startswith("/callback"):
                    query = parse_qs(urlsplit(self.path).query)
                    outer.found = {name: one[0] for name, one in query.items()}
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!doctype html><link rel=icon href=data:,>" + CLOSE.encode())

            def log_message(self, *_: Any) -> None: ...

        self.found: dict[str, str] = {}
        self.server = HTTPServer(("127.0.0.1", Callback.port), Answering)
        Callback.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{Callback.port}/callback"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


# ---- what it builds
def build(agent: Agent, world: World, name: str) -> None:
    """Build an endpoint of this name, have it merged, and bring it back."""
    begun = agent.ask("initialize", {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "script", "version": "1"},
    })  # fmt: skip
    assert begun["protocolVersion"] == "2025-06-18"
    tools = {one["name"] for one in agent.ask("tools/list")["tools"]}
    assert {"platform_get_onboarding", "docs_search", "project_select"} <= tools
    agent.call("platform_get_onboarding")
    assert agent.call("docs_search", query="endpoint method path function")["results"]
    assert agent.token == ""
    listed = agent.call("project_list")  # 401, and the person signs in
    assert [one["projectId"] for one in listed["projects"]] == ["shop"]
    agent.url = agent.call("project_select", projectId="shop")["mcpUrl"]

    overview = agent.call("context_get")
    assert overview["project"] == "shop"
    read = agent.call("context_read", refs=["endpoint/hello", "function/hello"])
    assert len(read["resources"]) == 2
    agent.call("context_schema", kind="endpoint")
    wrong = agent.call("preview_changes", changes=changes(name, "vars.nobody"))
    assert errors(wrong) == [f"function/{name}"]
    seen = agent.call("preview_changes", changes=changes(name, "query.of | upper"))
    assert errors(seen) == []
    assert any(f"/{name}" in one for one in seen["routes"])
    applied = agent.follow(seen, "apply_changes", draft=f"agent/{name}")  # 403: more scope
    assert agent.scopes >= {"builder", "project"}
    assert agent.call("validate_draft", draft=applied["draft"], level="test")["ok"]
    tried = agent.call(
        "preview_request", draft=applied["draft"], method="GET", path=f"/{name}",
        query={"of": "works"},
    )  # fmt: skip
    assert (tried["status"], tried["body"]) == (200, {"says": "WORKS"})
    assert world.api.get(f"/shop/{name}").status_code == 404
    opened = agent.follow(applied, "apply_pull_request", title=f"Say {name}", body="Asked for.")
    published = agent.call("publish_request", number=opened["number"], head=opened["head"])
    assert published["state"] != "merged"
    assert published["waitingFor"], published
    assert world.api.get(f"/shop/{name}").status_code == 404

    merge(world, opened["number"])
    assert world.api.get(f"/shop/{name}?of=live").json() == {"says": "LIVE"}
    past = agent.call("recovery_history")
    prepared = agent.follow(past, "recovery_rollback", reason="It was a trial.")
    assert world.api.get(f"/shop/{name}?of=live").status_code == 200
    merge(world, prepared["number"])
    assert world.api.get(f"/shop/{name}?of=live").status_code == 404


def errors(preview: Any) -> list[str]:
    """Return the resources that have mistakes."""
    return [one["ref"] for one in preview["diagnostics"] if one["severity"] == "error"]


def changes(name: str, expression: str) -> list[dict[str, Any]]:
    quoted = "${ " + expression + " }"
    function = {
        "description": "Says it louder.", "query": {"of": "string"},
        "steps": [{"return": {"value": {"says": quoted}}}],
    }  # fmt: skip
    endpoint = {
        "method": "GET", "path": f"/{name}", "function": name, "authentication": "None",
        "description": "Say it louder.",
    }  # fmt: skip
    return [
        {"op": "put", "ref": f"function/{name}", "body": function},
        {"op": "put", "ref": f"endpoint/{name}", "body": endpoint},
    ]


def merge(world: World, number: int) -> None:
    """Merge a proposal as a maintainer, who is a person."""
    token = world.token("maintainer", scopes=[Scope.DEPLOY])
    done = world.control.post(
        f"/api/projects/shop/proposals/{number}/merge", json={},
        headers={"authorization": f"Bearer {token}"}, timeout=60,
    )  # fmt: skip
    assert (done.status_code, done.json().get("is_live")) == (200, True), done.text


@pytest.mark.long
def test_an_agent_builds_an_endpoint_after_a_device_code(world: World) -> None:
    with Agent(f"{world.serving['control_url']}/mcp") as agent:
        agent.sign_in = by_device(agent)
        build(agent, world, "louder")


@pytest.mark.browser
def test_an_agent_builds_an_endpoint_after_a_sign_in_in_the_browser(
    world: World, chromium: Any
) -> None:
    address = f"{world.serving['control_url']}/mcp"
    with Agent(address) as agent, opened(chromium) as page:
        agent.sign_in = by_browser(agent, page)
        build(agent, world, "shout")
