"""Every page and call of the control plane, tried as everybody: nothing goes beyond the role."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from litestar import get
from litestar.routes import HTTPRoute

from bbops_server.accounts.rules import RULES, Permission, Role, Scope
from bbops_server.control_plane.web.routes import IS_FORM, PERMISSION
from tests.support.control import Browser, Tried

NOBODYS = {
    "GET /setup", "POST /setup", "GET /signup", "POST /signup", "GET /signin", "POST /signin",
    "POST /signout", "GET /style.css", "GET /icon.svg", "GET /icons.svg",
    "POST /theme", "GET /built/{file:str}",
    "GET /schema/openapi.json",
    "GET /schema/{path:str}",
    "POST /api/login", "POST /api/login/poll", "GET /schema", "GET /signin/with/{provider:str}",
    "GET /signin/with/{provider:str}/callback",
    "GET /.well-known/mcp.json", "GET /mcp/server-card", "GET /mcp/install-manifest",
    "GET /.well-known/ai-catalog.json",
    "GET /.well-known/agent-skills/index.json", "GET /skills", "GET /skills/skills.json",
    "GET /skills/{name:str}/SKILL.md", "GET /llms.txt", "GET /llms-full.txt",
    "GET /docs/{page:path}", "GET /oauth/authorize",
}  # fmt: skip
"""What takes nobody: a route more on this list is a decision."""

DOORS = {
    "/git", "/mcp", "/mcp/p", "/api/ci/token", "/hooks/{name:str}", "/oauth/register",
    "/oauth/token", "/oauth/revoke",
    "/oauth/device_authorization", "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource/mcp/p/{key:str}",
}  # fmt: skip
"""Routes with their own authentication: test_githttp, test_mcp_transport, test_oauth_tokens,
test_workflow_tokens, test_webhooks_of_forges."""

ROLES: tuple[Role | None, ...] = (None, *Role)


class Route(NamedTuple):
    """One method of one path."""

    method: str
    path: str
    permission: Permission | None
    is_form: bool

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def address(self) -> str:
        """A path that it answers, of the project that there is."""
        path = self.path.replace("{name:str}", "small").replace("{number:int}", "1")
        return path.replace(":str}", "").replace("{", "")


def routes(tried: Tried) -> Iterator[Route]:
    for one in tried.app.routes:
        if one.path in DOORS:
            continue
        assert isinstance(one, HTTPRoute), f"{one.path} is no route of HTTP"
        for handler in one.route_handlers:
            for method in sorted(handler.http_methods - {"OPTIONS"}):
                permission = handler.opt.get(PERMISSION)
                yield Route(method, one.path, permission, IS_FORM in handler.opt)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tried]:
    """A control plane with somebody of each role, in the workspace and in the project alone."""
    world = Tried(tmp_path_factory.mktemp("world"))
    world.own_app()
    world.add("first@example.com", Role.OWNER)
    for role in ROLES:
        world.add(f"{role}@example.com", role)
        world.add(f"project-{role}@example.com", None, project=role)
    yield world
    world.close()


@pytest.fixture(scope="module")
def every(world: Tried) -> list[Route]:
    return list(routes(world))


def ask(browser: Browser, route: Route, **more: Any) -> httpx.Response:
    """Ask for a route with what a page or program sends: never enough to change anything."""
    headers = {"accept": "application/json"} | more.pop("headers", {})
    body: dict[str, Any] = {}
    if route.method == "POST":
        body = {"data": {"csrf": browser.csrf}} if route.is_form else {"json": {}}
        headers |= {} if route.is_form else {"x-csrf-token": browser.csrf}
    return browser.call(route.method, route.address, headers=headers, **body, **more)


def is_let_in(answer: httpx.Response) -> bool:
    """Return whether it was answered, also when what was asked is wrong or not there."""
    assert answer.status_code < 500, answer.text
    if answer.status_code == 404:
        return "no project" not in answer.text
    if "Access was not granted" in answer.text:  # a consent that was not asked for
        return True
    return answer.status_code not in {401, 403}


def expected(route: Route, role: Role | None, *, in_workspace: bool) -> bool:
    """Return what the table says; read again here, so that it is not tried against itself."""
    assert route.permission is not None
    rule = RULES[route.permission]
    if rule.role is None:
        return True
    counts = in_workspace or rule.where == "project"
    return counts and role is not None and role.rank >= rule.role.rank


def test_every_route_names_its_permission(every: list[Route]) -> None:
    assert [one.name for one in every if not isinstance(one.permission, Permission)] == []
    assert len(every) > 20


def test_a_route_without_a_permission_answers_nobody(tmp_path: Path) -> None:
    tried = Tried(tmp_path)

    @get("/forgotten")
    async def forgotten() -> str:
        return "secret"

    tried.own_app().register(forgotten)
    assert [one.name for one in routes(tried) if one.permission is None] == ["GET /forgotten"]
    assert tried.browser().call("GET", "/forgotten").status_code == 403
    tried.close()


def test_no_call_takes_a_key_that_it_does_not_know(world: Tried) -> None:
    """A key that is misspelt would be left out without a word."""
    handlers = [
        one for route in world.app.routes if isinstance(route, HTTPRoute)
        for one in route.route_handlers
    ]  # fmt: skip
    known = [one.parsed_fn_signature.parameters.get("data") for one in handlers]
    bodies = {one.annotation for one in known if one is not None}
    assert len(bodies) > 10
    loose = [one.__name__ for one in bodies if not one.__struct_config__.forbid_unknown_fields]
    assert loose == []


def test_what_takes_nobody_is_on_the_list(every: list[Route]) -> None:
    public = {one.name for one in every if one.permission is Permission.BE_ANYBODY}
    assert public == NOBODYS


def test_every_change_of_a_page_is_a_form(every: list[Route]) -> None:
    changes = [one for one in every if one.method != "GET"]
    assert all(one.is_form != one.path.startswith("/api/") for one in changes)


def test_nobody_gets_what_takes_nobody(world: Tried, every: list[Route]) -> None:
    let_in = {one.name for one in every if ask(world.browser(), one).status_code != 401}
    assert let_in == NOBODYS


@pytest.mark.long
@pytest.mark.parametrize("role", ROLES, ids=str)
@pytest.mark.parametrize("where", ["workspace", "project"])
def test_a_person_gets_what_their_role_may(
    world: Tried, every: list[Route], role: Role | None, where: str
) -> None:
    email = f"{role}@example.com" if where == "workspace" else f"project-{role}@example.com"
    browser = world.as_person(email)
    browser.get("/account")
    for route in every:
        if route.permission is Permission.BE_ANYBODY:
            continue
        wanted = expected(route, role, in_workspace=where == "workspace")
        assert is_let_in(ask(browser, route)) is wanted, route.name


@pytest.mark.long
@pytest.mark.parametrize("scope", Scope)
def test_a_token_gets_what_its_scope_is_for(world: Tried, every: list[Route], scope: Scope) -> None:
    owner = world.book.people.get("first@example.com")
    assert owner is not None
    included = {
        Scope.READ: {Scope.READ}, Scope.DEPLOY: {Scope.READ, Scope.DEPLOY},
        Scope.ADMIN: {Scope.READ, Scope.DEPLOY, Scope.ADMIN}, Scope.GIT: {Scope.GIT},
    }[scope]  # fmt: skip
    for route in every:
        if route.permission is None or route.permission is Permission.BE_ANYBODY:
            continue
        key, token = world.book.tokens.make(owner.id, "walk", [scope])
        answer = ask(world.browser(), route, headers={"authorization": f"Bearer {key}"})
        world.book.tokens.revoke(owner.id, token.id)
        assert is_let_in(answer) is (RULES[route.permission].scope in included), route.name


def test_a_token_of_one_project_is_good_for_no_other(world: Tried, every: list[Route]) -> None:
    owner = world.book.people.get("first@example.com")
    assert owner is not None
    for project in ("small", "other"):
        key, _ = world.book.tokens.make(owner.id, "walk", [Scope.ADMIN, Scope.GIT], project=project)
        for route in every:
            rule = RULES[route.permission or Permission.BE_ANYBODY]
            if rule.where in {"anybody", "person"}:
                continue
            answer = ask(world.browser(), route, headers={"authorization": f"Bearer {key}"})
            assert is_let_in(answer) is (rule.where == "project" and project == "small")


@pytest.mark.parametrize(
    "given",
    [
        "Bearer bbp_" + "a" * 40,
        "Bearer",
        "Bearer bbl_wrong",
        "Basic YTpi",
        "bearer  ",
        "é",
        "revoked",
    ],
)
def test_a_token_that_is_none_gets_nothing_not_even_with_a_session(
    world: Tried, every: list[Route], given: str
) -> None:
    owner = world.book.people.get("first@example.com")
    assert owner is not None
    if given == "revoked":
        key, token = world.book.tokens.make(owner.id, "walk", [Scope.ADMIN])
        world.book.tokens.revoke(owner.id, token.id)
        given = f"Bearer {key}"
    browser = world.as_person("first@example.com")
    browser.get("/account")
    for route in every:
        if route.permission is not Permission.BE_ANYBODY:
            headers = {"authorization": given.encode()}
            assert ask(browser, route, headers=headers).status_code == 401, route.name


def test_an_ended_session_gets_nothing(world: Tried, every: list[Route]) -> None:
    browser = world.as_person("first@example.com")
    browser.get("/account")
    owner = world.book.people.get("first@example.com")
    assert owner is not None
    world.book.sessions.end_all(owner.id)
    let_in = {one.name for one in every if is_let_in(ask(browser, one))}
    assert let_in <= NOBODYS


def test_no_change_is_made_without_its_csrf_token(world: Tried, every: list[Route]) -> None:
    browser = world.as_person("first@example.com")
    changes = [one for one in every if one.method != "GET"]
    for csrf in ("", "0" * 64):
        browser.csrf = csrf
        for route in changes:
            assert ask(browser, route).status_code == 403, route.name


def test_no_change_is_taken_from_another_site(world: Tried, every: list[Route]) -> None:
    browser = world.as_person("first@example.com")
    browser.get("/account")
    for route in every:
        if route.method == "GET":
            continue
        for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
            assert ask(browser, route, headers=headers).status_code == 403, route.name


def test_this_machines_user_gets_all_but_an_account(world: Tried, every: list[Route]) -> None:
    headers = {"authorization": "Bearer bbl_local"}
    for route in every:
        if route.permission in {Permission.BE_ANYBODY, None} or route.is_form:
            continue
        let_in = is_let_in(ask(world.browser(), route, headers=headers))
        assert let_in is (route.permission is not Permission.MANAGE_ONESELF), route.name


def test_a_refused_change_stands_in_the_log(world: Tried) -> None:
    browser = world.as_person("viewer@example.com")
    browser.get("/account")
    browser.call("POST", "/api/projects/small/reconcile", headers={"x-csrf-token": browser.csrf})
    entry = world.book.audit.list()[0]
    assert (entry.who, entry.outcome) == ("viewer@example.com", "refused")


FIELDS = (
    "email", "name", "company", "password", "old", "role", "project", "days", "scope", "feature",
    "disabled", "code", "decision", "return_to", "invitation", "token", "client", "scopes",
    "device", "commit",
)  # fmt: skip
ODD = (
    "", " ", "\x00", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "é" * 300,
    "-1", "9" * 30, "<script>", "a@b.c", "bbi_" + "x" * 40, "\u202e", "{}", "x" * 5_000,
)  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("odd", ODD, ids=lambda text: ascii(text[:12]))
def test_no_form_or_query_breaks_anything(world: Tried, every: list[Route], odd: str) -> None:
    browser = world.as_person("first@example.com")
    browser.get("/account")
    csrf = browser.csrf
    for route in every:
        if route.path in {"/signout", "/setup"}:
            continue
        fields = dict.fromkeys(FIELDS, odd)
        if route.method == "GET":
            answer = browser.call("GET", route.address, params=dict.fromkeys(FIELDS, odd[:500]))
        elif route.is_form:
            answer = browser.call("POST", route.address, data={"csrf": csrf} | fields)
        else:
            headers = {"x-csrf-token": csrf}
            answer = browser.call("POST", route.address, json=fields, headers=headers)
        assert answer.status_code < 500, (route.name, answer.text)


@pytest.mark.parametrize(("content", "kind"), [
    (b"\xff\xfe=%zz&csrf=", "application/x-www-form-urlencoded"), (b"{", "application/json"),
    (b"--x\r\n\r\n", "multipart/form-data; boundary=x"), (b"a", "multipart/form-data"),
    (b"csrf=" + b"a" * 100_000, "application/x-www-form-urlencoded"), (b"[1]", "text/plain"),
    (b"&".join(b"a=1" for _ in range(20_000)), "application/x-www-form-urlencoded"),
])  # fmt: skip
def test_no_body_breaks_anything(
    world: Tried, every: list[Route], content: bytes, kind: str
) -> None:
    browser = world.as_person("first@example.com")
    for route in every:
        if route.method == "POST":
            headers = {"content-type": kind}
            answer = browser.call("POST", route.address, content=content, headers=headers)
            assert 400 <= answer.status_code < 500, (route.name, answer.text)
