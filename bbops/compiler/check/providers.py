"""Sign-in at other services: each has what it needs, and an account can be made of what it says."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.language.project import Project
from bbops.language.resources._sign_in import Provider
from bbops.language.resources.project import Auth
from bbops.language.sql.types import SqlTable

CODE = "sign-in-provider"
_TEXTS = frozenset(("string", "text"))
_FLAGS = frozenset(("emailVerified", "blocked"))


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield providers that nobody could sign in with."""
    auth = project.settings.model.auth
    if auth is None or not auth.providers:
        return
    for name, provider in auth.providers.items():
        yield from _provider(project, name, provider)
    settings, session = project.settings, project.settings.model.session
    place = settings.place("auth", "providers", key=True)
    if session is None or session.cookie is None:
        yield Diagnostic(
            place, CODE, "'providers' needs 'session.cookie'",
            "who comes back from a provider is signed in by a cookie: "
            "write 'cookie: {}' under 'session'",
        )  # fmt: skip
    if auth.users is None:
        yield Diagnostic(
            place, CODE, "'providers' needs 'users'", "name the table of users: 'users: users'"
        )
    table = project.stored_tables.get(auth.users or "")
    if table is not None:
        yield from _profile(project, auth, table)


def _provider(project: Project, name: str, one: Provider) -> Iterator[Diagnostic]:
    kind = one.kind_of(name)
    needs = {"apple": {"teamId", "keyId", "privateKey"}, "oidc": {"clientSecret", "issuer"},
             "microsoft": {"clientSecret", "tenant"}}.get(kind, {"clientSecret"})  # fmt: skip
    if kind == "microsoft" and one.issuer is not None:
        needs = needs - {"tenant"}
    given = {key for key, value, _ in one.settings() if value}
    given |= {key for key in ("issuer", "tenant") if getattr(one, key)}
    path = ("auth", "providers", name)
    for key in sorted(needs - given):
        yield Diagnostic(
            project.settings.place(*path, key=True), CODE,
            f"a provider of kind '{kind}' needs '{key}'", _HINTS.get(key, ""),
        )  # fmt: skip
    for key in sorted(given - needs - {"clientId", "issuer"}):
        yield Diagnostic(
            project.settings.place(*path, key, key=True), CODE,
            f"a provider of kind '{kind}' has no '{key}'", "remove it",
        )  # fmt: skip
    if kind == "github" and one.domains:
        yield Diagnostic(
            project.settings.place(*path, "domains", key=True), CODE,
            "GitHub has no mailboxes, so 'domains' are none of its own", "remove it",
        )  # fmt: skip


_HINTS = {
    "clientSecret": "'clientSecret: ${ env.NAME }', with the secret that the service has given you",
    "issuer": "such as 'issuer: https://login.example.com'",
    "tenant": "the id of the tenant, or 'common' for all accounts",
    "privateKey": "'privateKey: ${ env.NAME }', with the key in PEM that Apple has given you",
}


def _profile(project: Project, auth: Auth, table: SqlTable) -> Iterator[Diagnostic]:
    """Yield columns that mean something else than `profile` says, and those nothing fills."""
    profile, columns, settings = auth.profile, table.columns, project.settings
    named = {
        "email": profile.email, "emailVerified": profile.email_verified, "name": profile.name,
        "role": profile.role, "blocked": profile.blocked,
    }  # fmt: skip

    def mistake(key: str, message: str, hint: str) -> Diagnostic:
        return Diagnostic(settings.place("auth", "profile", key), CODE, message, hint)

    for key, name in named.items():
        column = columns.get(name or "")
        wanted = {"boolean", "datetime"} if key in _FLAGS else _TEXTS | {"email"}
        if name is not None and column is None:
            hint = suggest(name, columns) or f"add it to tables/{table.name}.yaml, or name another"
            yield mistake(key, f"table '{table.name}' has no column '{name}'", hint)
        elif column is not None and column.type not in wanted:
            types = " or ".join(sorted(wanted))
            yield mistake(key, f"column '{name}' is {column.type}, expected {types}",
                        "name another column")  # fmt: skip
    if profile.email in columns and frozenset({profile.email}) not in table.uniques:
        yield mistake("email", f"column '{profile.email}' is not unique",
                    f"write 'unique: true' in tables/{table.name}.yaml")  # fmt: skip
    place = settings.place("auth", "users")
    if len(table.key) != 1 or columns[table.key[0]].auto not in {"uuid", "increment"}:
        yield Diagnostic(
            place, CODE, f"table '{table.name}' has no key that new users get by themselves",
            "write 'auto: uuid' for its primary key",
        )  # fmt: skip
    filled = {profile.email, profile.name, profile.email_verified, *table.key}
    for name, column in columns.items():
        if column.is_required and name not in filled:
            yield Diagnostic(
                place, CODE,
                f"column '{name}' has no default, and no provider tells what is in it",
                f"write 'nullable: true' or a 'default' in tables/{table.name}.yaml",
            )  # fmt: skip
        elif name == profile.email_verified and column.is_required:
            hint = "'default: false'" if column.type == "boolean" else "'nullable: true'"
            yield Diagnostic(
                place, CODE, f"column '{name}' has no value for an address that is not verified",
                f"write {hint} in tables/{table.name}.yaml",
            )  # fmt: skip
