"""A project that keeps its sessions in cookies, and browsers that ask it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from bbops.compiler.testing.client import Client
from tests.conftest import Files, Serving, sample
from tests.support.cookies import Browser
from tests.support.raw_requests import talk

LOGIN = """
input: { user: string, long?: boolean, big?: string }
steps:
  - if: input.long == true
    then:
      - generateAuthToken: { userId: '${ input.user }', expiresIn: 30d }
        as: one
      - return: { value: { token: '${ vars.one }', hello: you } }
  - if: input.user == 'nobody'
    then: [return: { status: 401, value: { error: no } }]
  - generateAuthToken:
      userId: ${ input.user }
      claims: { big: '${ input.big }' }
      refresh: true
    as: tokens
  - return:
      value:
        token: ${ vars.tokens.token }
        refreshToken: ${ vars.tokens.refreshToken }
        hello: ${ input.user }
"""
REFRESH = """
input: { refreshToken: { type: string, minLength: 20 } }
steps:
  - refreshAuthToken: { refreshToken: '${ input.refreshToken }' }
    as: next
  - generateAuthToken: { userId: '${ vars.next.userId }' }
    as: token
  - return: { value: { token: '${ vars.token }', refreshToken: '${ vars.next.refreshToken }' } }
"""
LOGOUT = """
input: { refreshToken: { type: string, minLength: 20 } }
steps:
  - revokeAuthToken: { refreshToken: '${ input.refreshToken }' }
  - return: { status: 204 }
"""
ME = "steps:\n  - return: { value: '${ vars.auth.userId }' }\n"
GUEST = """
steps:
  - verifyJwt: { optional: true }
    as: user
  - return: { value: '${ vars.user?.userId | default(''nobody'') }' }
"""
CHANNEL = """
name: Web
basePath: /api
authentication: None
cors: { origins: ['https://app.example.org'], credentials: true }
"""


def project(cookie: str = "{}", csrf: str = "  csrfHeader: X-CSRF\n") -> Files:
    files = sample(
        functions__login=LOGIN, functions__refresh=REFRESH, functions__logout=LOGOUT,
        functions__me=ME, functions__guest=GUEST, channels__web=CHANNEL,
    )  # fmt: skip
    files["project.yaml"] += (
        "  expiresIn: 15m\nsession:\n  login: login\n  refresh: refresh\n  logout: logout\n"
        f"  tokenField: token\n  refreshField: refreshToken\n  cookie: {cookie}\n{csrf}"
    )
    routes = {
        "login": "POST /login login None", "refresh": "POST /refresh refresh None",
        "logout": "POST /logout logout None", "plain": "POST /plain login None",
        "me": "GET /me me JWT", "change": "POST /change me JWT", "put": "PUT /change me JWT",
        "patch": "PATCH /change me JWT", "delete": "DELETE /change me JWT",
        "guest": "POST /guest guest None",
    }  # fmt: skip
    for name, line in routes.items():
        method, path, function, authentication = line.split()
        files[f"endpoints/{name}.yaml"] = (
            f"channel: web\nmethod: {method}\npath: {path}\nfunction: {function}\n"
            f"authentication: {authentication}\ndescription: Does it.\n"
        )
    return files


Story = Callable[[Browser], Awaitable[Any]]


def tell(serving: Serving, story: Story, files: Files | None = None, root: str = "") -> Any:
    async def with_browser(client: Client) -> Any:
        return await story(Browser(client, root=root))

    return talk(serving, files or project(), with_browser)


async def signed_in(client: Client, user: str = "ada") -> Browser:
    browser = Browser(client)
    assert (await browser.ask("POST", "/api/login", {"user": user})).status == 200
    return browser
