"""A tree, or a folder, compiled into the artifact of a release.

Artifacts are marshalled and named by their content. They are trusted: written and read by one
user on one machine, and never come from git.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bbops.base.diagnostics import Diagnostic
from bbops.base.model import Model
from bbops.base.names import env_name
from bbops.compiler.check import Cache as CheckCache
from bbops.compiler.check import CheckedProject, validate
from bbops.compiler.check._supported import check_features
from bbops.compiler.check.automatic import ANSWER, MESSAGE
from bbops.compiler.compile.agents import compile_chats
from bbops.compiler.compile.function import code_key, compile_function, pack_value
from bbops.compiler.compile.providers import compile_providers
from bbops.compiler.compile.topics import compile_origins, compile_topics
from bbops.compiler.compile.work import compile_webhooks, compile_work
from bbops.language.expressions.check import check_value
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import Value
from bbops.language.project import Project, Route
from bbops.language.resources._own_addon import OwnAddon
from bbops.language.resources.addon import Addon
from bbops.language.resources.endpoint import Upload
from bbops.language.resources.project import Engine, Refresh
from bbops.language.sql.dialect import Dialect
from bbops.language.sql.postgres import POSTGRES
from bbops.language.sql.sqlite import SQLITE
from bbops.language.steps._flow import Flow
from bbops.language.steps.find import Find
from bbops.language.steps.return_ import Return
from bbops.runtime.auth.keys import MAKING
from bbops.runtime.data.pages import KEY_VARIABLE
from bbops.runtime.http.in_flight import TIMEOUT_SECONDS
from bbops.runtime.linking.release import FORMAT
from bbops.runtime.values.units import seconds, size_bytes
from bbops.source.tree import Tree

DIALECTS: Final[dict[Engine, Dialect]] = {"sqlite": SQLITE, "postgres": POSTGRES}
"""What a release is compiled for, by the name of its database."""
TITLES: Final[dict[Engine, str]] = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


@dataclass(slots=True)
class Cache:
    """What a long-lived builder keeps: what was checked, and compiled functions."""

    checked: CheckCache = field(default_factory=CheckCache)
    code: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Built:
    """An artifact, or the errors that stand in its way; `compiled` counts cache misses."""

    project: CheckedProject | None
    diagnostics: tuple[Diagnostic, ...]
    artifact: bytes = b""
    digest: str = ""
    compiled: int = 0


def build(
    tree: Tree,
    cache: Cache | None = None,
    *,
    database: Engine = "sqlite",
    off: Collection[str] = (),
    base: Tree | None = None,
) -> Built:
    """Load, check and compile a tree; with a warm cache O(what changed).

    Args:
        database: the one that the artifact will run on.
        off: features that it may not use.
        base: what was accepted before, see `bbops.compiler.check.validate`.
    """
    cache = cache or Cache()
    project, diagnostics = check(tree, cache, database=database, off=off, base=base)
    if project is None:
        return Built(None, diagnostics)
    functions, code, misses = [], {}, 0
    dialect = DIALECTS[database]
    for name in sorted(project.functions):
        checked = project.flows.of(name)
        key = code_key(project, name, checked, dialect)
        if key not in cache.code:
            misses += 1
        code[key] = cache.code.get(key) or pack_value(
            compile_function(project, name, checked, dialect)
        )
        functions.append(code[key])

    def pack(name: str) -> bytes:
        checked = project.flows.of(name)
        key = f"{code_key(project, name, checked, dialect)} durable"
        code[key] = cache.code.get(key) or pack_value(
            compile_function(project, name, checked, dialect, is_durable=True)
        )
        return code[key]

    work = compile_work(project, dialect, pack)
    artifact = pack_value(_artifact(project, functions, dialect) | {"work": work})
    cache.code = code
    digest = hashlib.sha256(artifact).hexdigest()
    return Built(project, diagnostics, artifact, digest, misses)


def check(
    tree: Tree, cache: Cache, *, database: Engine, off: Collection[str], base: Tree | None = None
) -> tuple[CheckedProject | None, tuple[Diagnostic, ...]]:
    """Return the project of a tree that `build` would compile, and all that is to be said of it.

    Arguments as those of `build`.
    """
    project, diagnostics = validate(tree, cache.checked, base=base)
    if project is None:
        return None, diagnostics
    if unwanted := tuple(check_features(project, off)):
        return None, tuple(sorted({*diagnostics, *unwanted}))
    engine = project.settings.model.database.engine or database
    if engine != database:
        return None, (*diagnostics, _other_database(project, engine, database))
    return project, diagnostics


def _other_database(project: Project, engine: Engine, found: Engine) -> Diagnostic:
    return Diagnostic(
        project.settings.place("database", "engine"), "other-database",
        f"the project's SQL is for {TITLES[engine]}, and this database is {TITLES[found]}",
        "serve it with DATABASE_URL, and test it with --database-url" if engine == "postgres"
        else "serve and test it without the URL of a database",
    )  # fmt: skip


def _artifact(project: CheckedProject, functions: list[bytes], dialect: Dialect) -> dict[str, Any]:
    settings = project.settings.model
    return {
        "format": FORMAT,
        "project": settings.name,
        "database": dialect.name,
        "durability": settings.database.durability,
        "functions": functions,  # each packed by itself, so that none is read before its turn
        "routes": [_route(project, route) for route in project.routes],
        "channels": [
            (one.model.base_path, one.model.cors.model_dump())
            for _, one in sorted(project.channels.items())
        ],
        "auth": _auth(project, dialect),
        "session": _session(project),
        "sign_ins": _sign_ins(project),
        "wording": compile_wording(project),
        "addons": {
            name: compile_addon(project, name, one.model) for name, one in project.addons.items()
        },
        "env": declared_env(project),
        "private": _private(project),
        "webhooks": [*compile_webhooks(project)],
        "chats": compile_chats(project),
        "topics": compile_topics(project, dialect),
        "origins": compile_origins(project),
    }


def compile_addon(project: Project, name: str, addon: Addon | OwnAddon) -> dict[str, Any]:
    """Return whether an addon is enabled, and its settings: (env variable or "", text)."""
    if isinstance(addon, OwnAddon):
        steps = {step: one.model for step, one in project.own_steps[name].items()}
        given = {key: (env_name(text), text) for key, text in addon.settings.items()}
        return {"enabled": addon.enabled, "config": given, "own": addon.link(steps)}
    config: Model | None = addon.config
    told = config.model_dump(by_alias=True, exclude_none=True) if config else {}
    settings = {key: (env_name(text), text) for key, text in told.items()}
    return {"enabled": addon.enabled, "config": settings}


def declared_env(project: Project) -> dict[str, dict[str, Any]]:
    """Return what a server has to know of each env variable to find its value.

    Where a step gives pages, that is also the key of their cursors, which nobody declares.
    `makes` is the algorithm of a key that `generate` makes, where that is no text.
    """
    auth = project.settings.model.auth
    has_pair = auth is not None and auth.algorithm in MAKING
    makes = {auth.key_name: {"makes": auth.algorithm}} if auth and has_pair else {}
    return (_CURSOR_KEY if _has_pages(project) else {}) | {
        name: {
            "secret": variable.secret, "default": variable.default,
            "generate": variable.generate, "required": not variable.may_be_missing,
            **makes.get(name, {}),
        } for name, variable in project.settings.model.env.items()
    }  # fmt: skip


_CURSOR_KEY: dict[str, dict[str, Any]] = {
    KEY_VARIABLE: {"secret": True, "default": None, "generate": True, "required": False}
}


def _has_pages(project: Project) -> bool:
    steps = (step for one in project.functions.values() for step in one.model.every_step)
    return any(isinstance(step, Find) and step.is_paged for step in steps)


def _route(project: Project, route: Route) -> dict[str, Any]:
    timeout, most = route.timeout, route.max_body
    return {
        "method": route.method,
        "path": route.path,
        "endpoint": route.endpoint.name,
        "function": route.function,
        "authentication": route.authentication,
        "middleware": list(route.middleware),
        "max_body_bytes": size_bytes(most) if most else None,
        "files": [_upload(name, one) for name, one in route.endpoint.model.files.items()],
        "history": route.history or "meta",
        "is_once": route.endpoint.model.idempotency and route.method != "GET",
        "timeout_seconds": seconds(timeout) if timeout else _usual_seconds(project, route),
        "channel": route.channel.name if route.channel else None,
        "roles": sorted(route.roles) if route.roles else None,
        "rate_limit": _rate_limit(route),
        "cors": route.channel.model.cors.model_dump() if route.channel else None,
    }


def _rate_limit(route: Route) -> dict[str, Any] | None:
    """Return the limit of a route; an endpoint's own has a counter of its own."""
    found, name = route.rate_limit, route.endpoint.name
    if found is None:
        return None
    is_own = route.counts_alone or route.channel is None
    return {
        "most": found.limit, "seconds": round(found.per_seconds),
        "by_address": found.by == "address",
        "name": name if is_own or route.channel is None else route.channel.name,
        "counter": f"endpoint {name}" if is_own or route.channel is None else route.channel.name,
    }  # fmt: skip


def _usual_seconds(project: Project, route: Route) -> float:
    """Return how long an endpoint may take that does not say it: a stream as its step."""
    function = project.functions.get(route.function)
    steps = function.model.every_step if function is not None else ()
    streamed = (
        one.return_.stream.stream_seconds() for one in steps
        if isinstance(one, Return) and one.return_.stream is not None
    )  # fmt: skip
    return max(TIMEOUT_SECONDS, *streamed, 0.0)


def _private(project: Project) -> list[str]:
    """Return the names of columns that no answer may have, for what is written down of requests."""
    return sorted({
        name
        for table in project.tables.values()
        for name, column in table.model.columns.items() if column.private
    })  # fmt: skip


def _upload(name: str, upload: Upload) -> dict[str, Any]:
    return {
        "name": name.rstrip("?"), "optional": name.endswith("?"), "max_size": upload.max_size,
        "types": upload.types, "many": upload.many,
    }  # fmt: skip


def _auth(project: Project, dialect: Dialect) -> dict[str, Any] | None:
    auth = project.settings.model.auth
    if auth is None:
        return None
    table = project.sql_tables.get(auth.users or "")
    key = table.columns[table.key[0]].type if table and len(table.key) == 1 else "text"
    return {
        "key": auth.key_name,
        "algorithm": auth.algorithm,
        "expires_seconds": seconds(auth.expires_in),
        "refresh_seconds": seconds((auth.refresh or Refresh()).expires_in),
        "issuer": auth.issuer,
        "audience": auth.audience,
        "user_id_type": "integer" if key in {"integer", "bigint"} else "text",
        "schemes": [*auth.schemes],
        "keys": [
            {
                "id": one.id,
                "algorithm": one.algorithm,
                "url": one.jwks_url,
                "key": env_name(one.key) if one.key else None,
            }
            for one in auth.keys
        ],
        **compile_providers(project, auth, dialect),
    }


def _session(project: Project) -> dict[str, Any] | None:
    """Return the rules of a project's cookies, and what its endpoints do about them."""
    auth, session = project.settings.model.auth, project.settings.model.session
    if auth is None or session is None or session.cookie is None:
        return None
    paths = {route.endpoint.name: route.path for route in project.routes}
    refreshing = [paths[name] for name in (session.refresh, session.logout) if name in paths]
    cookie = session.cookie
    rules = {
        "name": cookie.name,
        "same_site": cookie.same_site,
        "secure": cookie.secure,
        "domain": cookie.domain,
        "path": cookie.path,
        "token_field": session.token_field,
        "refresh_field": session.refresh_field,
        "refresh_paths": [path.partition("/:")[0] for path in refreshing],
        "csrf_header": session.csrf_header.lower() if session.csrf_header else None,
        "expires_seconds": seconds(auth.expires_in),
        "refresh_seconds": seconds((auth.refresh or Refresh()).expires_in),
    }
    named = (
        ("logout", session.logout), ("refresh", session.refresh), ("begin", session.signup),
        ("begin", session.login),
    )  # fmt: skip
    roles = {name: role for role, name in named if name}
    return {"rules": rules, "roles": roles}


def _sign_ins(project: Project) -> list[str]:
    """Return the endpoints that take passwords, and so are asked over and over by who has none."""
    session = project.settings.model.session
    named = (session.login, session.signup) if session is not None else ()
    return sorted({name for name in named if name is not None})


# ---- Compile `errors` of project.yaml: what the server's own answers say in a project


def compile_wording(project: Project) -> dict[str, dict[str, Any]]:
    """Return what a project words, as marshal can write it: answers by code, messages by rule."""
    file, errors = project.settings.file, project.settings.model.errors
    return {
        "answers": {
            code: {"status": one.status, "value": _compiled(file, one.value, ANSWER)}
            for code, one in errors.answers.items()
        },
        "messages": {
            rule: _compiled(file, value, MESSAGE) for rule, value in errors.messages.given.items()
        },
    }


def _compiled(file: str, value: Value | None, names: Mapping[str, Type]) -> dict[str, Any] | None:
    """Return the code of a function that gives a value; None where there is none."""
    if value is None:
        return None
    scope = Scope(names, _ignore)
    check_value(value, scope)
    flow = Flow(file, scope, {}, variables=(), exports=False)
    given = flow.value(value)
    now = "    now_ = r_host.clock.now()\n" if flow.uses_now else ""
    code = flow.run(f"def worded(r_host, r_error):\n{now}    return given", given=given)
    tree = ast.fix_missing_locations(ast.Module(code, []))
    return {
        "code": compile(tree, file, "exec", dont_inherit=True, optimize=1),
        "uses": flow.uses,
    }


def _ignore(*_mistake: object) -> None:
    """What is wrong was told when the project was checked."""
