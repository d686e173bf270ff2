"""A project whose users sign in at providers, and a browser that goes there and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
from cryptography.hazmat.primitives import serialization as pem

from bbops.compiler.compile.release import build
from bbops.compiler.testing.client import Client
from bbops.compiler.testing.host import KeptLog
from bbops.database.schema.place import Place
from bbops.runtime.linking.release import link
from bbops.source.tree import MemoryTree
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp
from bbops_server.process.host.system import SystemClock, SystemRandom
from tests.conftest import ENV, Files
from tests.support.cookies import Browser, Seen
from tests.support.provider import CLIENT, SECRET, TestProvider
from tests.support.session_project import project as with_sessions
from tests.support.signing_keys import p256_key
from tests.support.workbench import Bench

URL = "https://shop.example.com/v1"
USERS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  email: { type: string, unique: true, maxLength: 100 }
  email_verified: { type: boolean, default: false }
  name: { type: string, maxLength: 20 }
  role: { type: string, enum: [user, admin], default: user }
  created_at: { type: datetime, auto: created }
"""
PROFILE = "{ email: email, emailVerified: email_verified, name: name, role: role }"
SECRETS = ENV | {"CLIENT_SECRET": SECRET, "APPLE_KEY": ""}
BROWSERS_OWN = {"sec-fetch-site": "cross-site"}


def apple_key() -> str:
    """Return the private key that Apple would have given."""
    form = pem.PrivateFormat.PKCS8
    return p256_key().private_bytes(pem.Encoding.PEM, form, pem.NoEncryption()).decode()


def providers(there: TestProvider, **more: str) -> str:
    """Return `auth.providers` of the project, each at the stand-in."""
    secret, at = "clientSecret: '${ env.CLIENT_SECRET }'", f"issuer: '{there.url}'"
    listed = {
        "corp": f"{{ clientId: {CLIENT}, {secret}, {at}, domains: [example.com] }}",
        "google": f"{{ clientId: {CLIENT}, {secret}, {at} }}",
        "github": f"{{ clientId: {CLIENT}, {secret}, {at} }}",
        "apple": f"{{ clientId: {CLIENT}, teamId: TEAM, keyId: K1, {at},"
        " privateKey: '${ env.APPLE_KEY }' }",
        **more,
    }  # fmt: skip
    return "".join(f"    {name}: {one}\n" for name, one in listed.items())


def project(there: TestProvider, profile: str = PROFILE, users: str = USERS, **more: str) -> Files:
    """Return a project with sessions in cookies, and users of these columns."""
    files = with_sessions() | {"tables/users.yaml": users}
    settings = f"auth:\n  users: users\n  profile: {profile}\n  providers:\n"
    text = files["project.yaml"].replace("auth:\n", settings + providers(there, **more))
    declared = "env:\n  CLIENT_SECRET: { secret: true }\n  APPLE_KEY: { secret: true }\n"
    files["project.yaml"] = text.replace("env:\n", declared)
    return files


@dataclass
class SignIns:
    """A release of such a project, with real requests to the outside."""

    bench: Bench
    files: Files
    env: dict[str, str]
    log: KeptLog
    has_nobody: bool = False
    """No account was to be made."""

    def client(self, url: str = URL, **env: str) -> Client:
        """Return a client of a release that answers at an address."""
        tree = MemoryTree(self.files)
        built = build(tree, database=self.bench.database, base=tree)
        assert built.project is not None, built.diagnostics
        http = OutsideHttp(EgressPolicy(["127.0.0.1"]))
        host = replace(
            self.bench.host, clock=SystemClock(), random=SystemRandom(), http=http, log=self.log
        )
        values = self.env | env
        release = link(built.artifact, name="0123456789ab", host=host, env=values, url=url)
        return Client(release, self.bench.door)

    def run(self, story: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        """Tell a story on the loop of the database."""
        return self.bench.loop.run_until_complete(story(*arguments))

    def users(self) -> list[tuple[Any, ...]]:
        """Return email, verified, name and role of every user."""
        return self.bench.sql("SELECT email, email_verified, name, role FROM users ORDER BY id")

    def add(self, email: str, *, is_verified: bool = True) -> None:
        """Add a user who signed up here."""
        stored: Any = is_verified if self.bench.database == "postgres" else int(is_verified)
        self.bench.sql(
            "INSERT INTO users (email, email_verified, name, role, created_at)"
            " VALUES (?, ?, 'Local', 'user', '2026-01-01T00:00:00.000000Z') RETURNING id",
            email, stored,
        )  # fmt: skip


@contextmanager
def sign_ins(place: Place, files: Files, **env: str) -> Iterator[SignIns]:
    """Serve such a project in this process."""
    with Bench(place, files) as bench:
        yield SignIns(bench, files, SECRETS | env, KeptLog())


@dataclass
class Away:
    """A browser that is at the provider: where it was sent, and what it would bring back."""

    browser: Browser
    name: str
    asked: dict[str, str]
    back: dict[str, str]

    async def come(self, **change: str | None) -> Seen:
        """Come back, with some of what it brings changed; None leaves it out."""
        changed = {**self.back, **change}
        query = urlencode({key: value for key, value in changed.items() if value is not None})
        path = f"/~auth/{self.name}/callback"
        if self.asked.get("response_mode") == "form_post":
            headers = BROWSERS_OWN | {"content-type": "application/x-www-form-urlencoded"}
            return await self.browser.ask("POST", path, query.encode(), headers=headers)
        return await self.browser.ask("GET", f"{path}?{query}", headers=BROWSERS_OWN)


async def go(browser: Browser, name: str, back: str = "") -> Away:
    """Go to a provider, and let it send the browser back."""
    query = f"?{urlencode({'return': back})}" if back else ""
    answer = await browser.ask("GET", f"/~auth/{name}{query}", headers=BROWSERS_OWN)
    assert answer.status == 303, answer
    where = answer.header("location")
    assert where is not None
    asked = {key: one[0] for key, one in parse_qs(urlsplit(where).query).items()}
    sent = await asyncio.to_thread(httpx.get, where)
    if asked.get("response_mode") == "form_post":
        return Away(browser, name, asked, sent.json())
    found = parse_qs(urlsplit(sent.headers["location"]).query)
    return Away(browser, name, asked, {key: one[0] for key, one in found.items()})


async def whole(client: Client, name: str, back: str = "") -> tuple[Seen, Browser]:
    """Sign in at a provider with a new browser."""
    browser = Browser(client)
    return await (await go(browser, name, back)).come(), browser


async def who(browser: Browser) -> Any:
    """Return whom the project takes a browser for; None for nobody."""
    answer = await browser.ask("GET", "/api/me")
    return answer.json if answer.status == 200 else None
