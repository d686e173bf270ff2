"""What the MCP addresses take over HTTP, and whom they let in."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bbops_server.accounts.rules import GrantScope, Role
from bbops_server.mcp import gate as message_module
from bbops_server.mcp.gate import Rejected, parse_message
from bbops_server.mcp.servers import PROJECT, PUBLIC, tools_of
from tests.support.agents import HEADERS, MCP, NEWEST, Agent, give, message
from tests.support.control import URL, Tried, tried

__all__ = ["tried"]

INITIALIZE = {
    "protocolVersion": "2025-06-18", "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}  # fmt: skip
METADATA = f'resource_metadata="{URL}/.well-known/oauth-protected-resource/mcp"'


@pytest.fixture
def nobody(tried: Tried) -> Agent:
    return Agent(tried)


@pytest.fixture
def ada(tried: Tried) -> Agent:
    return Agent(tried, give(tried, "ada@example.com", GrantScope.PROJECT))


# ---- the protocol
@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_client_is_met_in_the_protocol_it_asks_for(nobody: Agent, version: str) -> None:
    answer = nobody.ask("initialize", INITIALIZE | {"protocolVersion": version})
    result = answer.json()["result"]
    assert (answer.status_code, result["protocolVersion"]) == (200, version)
    assert result["serverInfo"]["name"] == "bbops"
    assert "platform_get_onboarding" in result["instructions"]


def test_the_newest_protocol_needs_no_handshake(nobody: Agent) -> None:
    answer = nobody.call_newest("platform_help")
    assert answer.status_code == 200
    assert answer.json()["result"]["structuredContent"]["mcpUrl"] == MCP
    assert answer.json()["result"]["resultType"] == "complete"


def test_a_notification_is_taken_without_an_answer(nobody: Agent) -> None:
    answer = nobody.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (answer.status_code, answer.content) == (202, b"")


def test_an_unknown_protocol_is_refused(nobody: Agent) -> None:
    answer = nobody.ask("tools/list", mcp_protocol_version="2099-01-01")
    assert answer.status_code == 400


@pytest.mark.parametrize("version", ["", NEWEST])
def test_a_tools_name_is_no_method(nobody: Agent, version: str) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"_meta": meta} if version else None
    answer = nobody.ask(
        "platform_help", params, mcp_protocol_version=version,
        mcp_method="platform_help" if version else "",
    )  # fmt: skip
    assert answer.json()["error"]["code"] == -32601
    assert answer.status_code == (404 if version else 200)


def test_every_tool_says_all_hints_and_both_schemas(nobody: Agent) -> None:
    tools = nobody.ask("tools/list").json()["result"]["tools"]
    assert {len(tool["annotations"]) for tool in tools} == {4}
    assert all(tool["title"] and tool["inputSchema"] and tool["outputSchema"] for tool in tools)
    assert {tool["_meta"]["bbops/scope"] for tool in tools} == {"", "project", "builder"}


# ---- what is not the protocol
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH"])
def test_other_methods_are_told_which_one_it_takes(nobody: Agent, method: str) -> None:
    answer = nobody.send({}, method=method)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"accept": "application/json"}, 406),
        ({"accept": "text/event-stream"}, 406),
        ({"accept": "*/*"}, 200),
        ({"accept": "text/event-stream;q=0.5 , application/json"}, 200),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/json; charset=utf-8"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"host": "evil.example"}, 403),
        ({"origin": URL}, 200),
    ],
)
def test_headers_are_those_of_the_protocol(
    nobody: Agent, headers: dict[str, str], status: int
) -> None:
    assert nobody.ask("tools/list", **headers).status_code == status


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"[" * 50_000, -32700),
        (b'"\xff"', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1e999}}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%s}}' % (b"1" * 5_000), -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\\ud800x"}}', -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', -32600),
        (b"7", -32600),
        (b'{"id":1,"method":"tools/list"}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"tools/list"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}', -32600),
    ],
)
def test_a_body_that_is_not_one_message_is_refused(nobody: Agent, body: bytes, code: int) -> None:
    answer = nobody.send(body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
    assert answer.json()["id"] is None


def test_a_stranger_sends_little(nobody: Agent, ada: Agent) -> None:
    large = {"query": "x" * 100_000}
    assert nobody.call("docs_search", large).status_code == 413
    assert ada.call("docs_search", large).status_code == 200


def test_a_message_that_does_not_come_is_not_waited_for(
    tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_module, "_READ_SECONDS", 0.05)
    answers: list[int] = []

    async def receive() -> Any:
        await asyncio.sleep(5)

    async def send(part: Any) -> None:
        answers.append(part.get("status", 0))

    fields = HEADERS | {"host": "127.0.0.1:8001"}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
        "scheme": "http", "path": "/mcp", "raw_path": b"/mcp", "query_string": b"",
        "root_path": "", "client": ("192.0.2.1", 1), "server": ("127.0.0.1", 8001),
        "headers": [(name.encode(), text.encode()) for name, text in fields.items()],
    }  # fmt: skip
    asyncio.run(tried.app(scope, receive, send))  # type: ignore[arg-type]
    assert answers[0] == 408


def test_strangers_that_ask_without_end_are_told_to_wait(tried: Tried, nobody: Agent) -> None:
    while not tried.control.limits.agents.take("127.0.0.1"):
        pass
    answer = nobody.ask("ping")
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0


def test_tokens_are_not_guessed_without_end(tried: Tried) -> None:
    known = Agent(tried, give(tried, "ada@example.com", GrantScope.PROJECT))
    assert known.call("project_list").status_code == 200
    while not tried.control.limits.agents.take("127.0.0.1"):
        pass
    assert Agent(tried, "bba_guess").call("platform_help").status_code == 429
    assert known.call("project_list").status_code == 200


def test_an_agent_that_asks_without_end_is_told_to_wait_and_no_other(tried: Tried) -> None:
    token, other = (give(tried, "ada@example.com", GrantScope.PROJECT) for _ in range(2))
    one = Agent(tried, token)
    assert one.call("project_list").status_code == 200
    grant = tried.book.grants.find(token, MCP)
    assert grant is not None
    while not tried.control.limits.grants.take(grant.caller.key):
        pass
    answer = one.call("project_list")
    assert (answer.status_code, "by this agent" in answer.text) == (429, True)
    assert 0 < int(answer.headers["retry-after"]) <= 60
    assert one.ask("ping").status_code == 429
    assert Agent(tried, other).call("project_list").status_code == 200


@given(body=st.binary(max_size=200))
def test_no_bytes_break_the_reading_of_a_message(body: bytes) -> None:
    with contextlib.suppress(Rejected):
        assert parse_message(body).method


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    method=st.sampled_from(["initialize", "tools/list", "tools/call", "skills/get", "ping", "x"]),
    id_=JSON,
    params=JSON
    | st.fixed_dictionaries(
        {"name": st.sampled_from(["docs_search"])},
        optional={
            "arguments": st.fixed_dictionaries({}, optional={"query": JSON, "limit": JSON}),
            "_meta": JSON,
        },
    ),
    version=st.sampled_from(["", "2025-06-18", NEWEST, "x"]),
)
def test_no_message_breaks_the_server(
    nobody: Agent, method: str, id_: Any, params: Any, version: str
) -> None:
    answer = nobody.send(message(method, params, id_), mcp_protocol_version=version)
    assert answer.status_code < 500, answer.text
    assert "Internal server error" not in answer.text
    assert "Traceback" not in answer.text


# ---- who may
def test_who_is_not_known_is_sent_to_sign_in_by_the_tool_that_takes_it(nobody: Agent) -> None:
    answer = nobody.call("project_list")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == f'Bearer {METADATA}, scope="project"'
    assert answer.text == "sign in first: 'project_list' needs an account"
    assert (
        nobody.call("account_setup").headers["www-authenticate"].endswith('scope="project builder"')
    )
    assert nobody.call_newest("project_list").status_code == 401


@pytest.mark.parametrize("tool", ["platform_help", "project_list"])
@pytest.mark.parametrize("token", ["bba_unknown", "bbp_x", "", "Basic"])
def test_a_wrong_token_is_refused_whatever_it_asks(tried: Tried, tool: str, token: str) -> None:
    agent = Agent(tried)
    agent.headers["authorization"] = f"Bearer {token}"
    answer = agent.call(tool)
    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert ("for the API and git" in answer.text) == (token == "bbp_x")


@pytest.mark.parametrize("package", [PUBLIC, PROJECT])
def test_every_tool_takes_its_scope_and_no_more(tried: Tried, package: str) -> None:
    key = tried.book.addresses.of("small")
    path = "/mcp" if package == PUBLIC else f"/mcp/p/{key}"
    given = {scope: give(tried, "ada@example.com", scope) for scope in GrantScope}
    for tool in tools_of(package).values():
        wrong = {"nothing": "of this"}  # so that nothing is done
        assert (Agent(tried, "", path).call(tool.name, wrong).status_code == 401) is bool(
            tool.scope or package == PROJECT
        )
        for scope, token in given.items():
            has = tool.scope in {"", GrantScope.PROJECT, scope}
            answer = Agent(tried, token, path).call(tool.name, wrong)
            assert answer.status_code == (200 if has else 403), (tool.name, scope)


def test_more_scope_is_asked_for_beside_what_there_is(ada: Agent) -> None:
    answer = ada.call("account_setup")
    assert answer.status_code == 403
    assert answer.headers["www-authenticate"] == (
        f'Bearer {METADATA}, scope="project builder", error="insufficient_scope"'
    )
    assert answer.text == "'account_setup' takes the scope 'builder'"


def test_the_body_says_which_tool_it_is_and_not_the_headers(nobody: Agent) -> None:
    hidden = {"name": "project_list", "arguments": {}}
    assert nobody.ask("tools/call", hidden, mcp_name="platform_help").status_code == 401
    twice = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"platform_help"},'
        b'"params":{"name":"project_list"}}'
    )
    assert nobody.send(twice).status_code == 401


def test_an_unknown_tool_is_answered_with_the_nearest(nobody: Agent, ada: Agent) -> None:
    assert nobody.call("project_lst").status_code == 401
    error = ada.call("project_lst").json()["error"]
    assert error["code"] == -32602
    assert "did you mean 'project_list'?" in error["message"]


def test_a_revoked_grant_and_a_disabled_person_end_at_once(tried: Tried, ada: Agent) -> None:
    assert ada.call("project_list").status_code == 200
    person = tried.add("second@example.com", Role.OWNER)
    (grant,) = tried.book.grants.list(tried.book.people.get("ada@example.com").id)  # type: ignore[union-attr]
    tried.book.grants.revoke(tried.book.people.get("ada@example.com").id, grant.id)  # type: ignore[union-attr]
    assert ada.call("project_list").status_code == 401
    second = Agent(tried, give(tried, person.email, GrantScope.PROJECT))
    assert second.call("project_list").status_code == 200
    tried.book.people.disable(person.id)
    assert second.call("platform_help").status_code == 401


# ---- the address of a project
def test_a_projects_address_is_for_those_who_are_known(tried: Tried, ada: Agent) -> None:
    key = tried.book.addresses.of("small")
    path = f"/mcp/p/{key}"
    answer = Agent(tried, path=path).ask("initialize", INITIALIZE)
    assert answer.status_code == 401
    assert f"/.well-known/oauth-protected-resource{path}" in answer.headers["www-authenticate"]
    ada.path = path
    result = ada.ask("initialize", INITIALIZE).json()["result"]
    assert result["serverInfo"]["name"] == "bbops-project"


def test_who_has_no_role_in_it_is_told_who_gives_one(tried: Tried) -> None:
    tried.add("eve@example.com")
    path = f"/mcp/p/{tried.book.addresses.of('small')}"
    eve = give(tried, "eve@example.com", GrantScope.PROJECT)
    answers = [Agent(tried, eve, one).ask("tools/list") for one in (path, "/mcp/p/none")]
    assert [one.status_code for one in answers] == [403, 403]
    assert answers[0].text == answers[1].text
    assert f"{URL}/people" in answers[0].text


def test_a_token_of_one_address_is_good_below_it_alone(tried: Tried) -> None:
    path = f"/mcp/p/{tried.book.addresses.of('small')}"
    own = give(tried, "ada@example.com", GrantScope.PROJECT, resource=URL + path)
    assert Agent(tried, own, path).ask("tools/list").status_code == 200
    assert Agent(tried, own).ask("tools/list").status_code == 401
    assert Agent(tried, own, "/mcp/p/other").ask("tools/list").status_code == 401


@pytest.mark.parametrize("params", [None, {"arguments": {}}, {"name": 7}, {"name": "x" * 5_000}])
def test_a_call_of_nothing_is_answered_in_the_protocol(ada: Agent, params: Any) -> None:
    answer = ada.ask("tools/call", params)
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, -32602)
    assert len(answer.text) < 1_000


def test_what_was_judged_is_what_is_run(ada: Agent) -> None:
    assert HEADERS["accept"]
    answer = ada.send(message("tools/call", {"name": "platform_help", "arguments": {"x": 1}}))
    result = answer.json()["result"]
    assert result["isError"] is True
    assert "unknown field `x`" in result["content"][0]["text"]


@pytest.mark.parametrize("key", ["", "x/y", "%22", "a%0Ab", "A", "x" * 65, "..%2f"])
def test_what_cannot_be_an_address_is_none(nobody: Agent, key: str) -> None:
    nobody.path = f"/mcp/p/{key}"
    answer = nobody.ask("tools/list")
    assert answer.status_code == 404
    assert "www-authenticate" not in answer.headers
