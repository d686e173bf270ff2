"""Sign-in: sessions, services at which users sign in, and keys of other issuers."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.compiler.check._checked import CheckedProject
from bbops.language.project import Project, function_of
from bbops.language.resources._sign_in import Provider
from bbops.language.resources.project import Auth, Cookie, Session
from bbops.language.sql.types import SqlTable


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield the mistakes of sessions, sign-in services and keys."""
    yield from _check_session(project)
    yield from _check_providers(project)
    yield from _check_verifying_keys(project)


def _check_session(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield keys of `session` that need others, and token fields that no answer has."""
    settings, session = project.settings, project.settings.model.session
    if session is None:
        return
    auth = settings.model.auth
    if session.login is None and not (auth and auth.providers):
        yield Diagnostic(
            settings.place("session", key=True), "session",
            "'session' needs the endpoint 'login'",
            "name it, or let users sign in at 'auth.providers'",
        )  # fmt: skip
    if session.csrf_header is not None and session.cookie is None:
        yield Diagnostic(
            settings.place("session", "csrfHeader"), "session", "'csrfHeader' needs a 'cookie'",
            "without cookies no other site can send a request with the user's token",
        )  # fmt: skip
    if session.refresh_field is not None and session.refresh is None:
        yield Diagnostic(
            settings.place("session", "refreshField"), "session",
            "'refreshField' needs the endpoint 'refresh'",
        )  # fmt: skip
    if session.cookie is not None:
        yield from _cookie(project, session, session.cookie)
    yield from _fields(project, session)


def _cookie(project: CheckedProject, session: Session, cookie: Cookie) -> Iterator[Diagnostic]:
    """Yield settings of a cookie that browsers or this server would reject."""
    settings, name = project.settings, cookie.name

    def unlike(key: str, message: str, hint: str = "") -> Diagnostic:
        return Diagnostic(settings.place("session", "cookie", key), "session", message, hint)

    if settings.model.auth is None:
        yield Diagnostic(
            settings.place("session", "cookie"), "session", "a cookie needs tokens to store",
            "add 'auth:' with 'signingKey: ${ env.JWT_SECRET }' under it",
        )  # fmt: skip
    if cookie.same_site == "None" and not cookie.secure:
        yield unlike("sameSite", "'sameSite: None' needs 'secure: true'",
                      "browsers reject the cookie otherwise")  # fmt: skip
    if name.startswith(("__Host-", "__Secure-")) and not cookie.secure:
        yield unlike("name", f"'{name}' needs 'secure: true'", _REFUSED)
    if name.startswith("__Host-") and (cookie.domain is not None or cookie.path != "/"):
        yield unlike("name", f"'{name}' needs 'path: /' and no 'domain'", _REFUSED)
    if name == "csrf" and session.csrf_header is not None:
        yield unlike("name", "'csrf' is reserved for the cookie that 'csrfHeader' repeats",
                      "call this one 'session'")  # fmt: skip
    if name.lower().startswith("bbops"):
        yield unlike("name", f"'{name}' is reserved for the server", "call it 'session'")


_REFUSED = "browsers reject a cookie with this prefix otherwise"


def _fields(project: CheckedProject, session: Session) -> Iterator[Diagnostic]:
    fields = {"tokenField": session.token_field}
    if session.refresh_field is not None:
        fields["refreshField"] = session.refresh_field
    for key, field in fields.items():
        lacks = {name: _lacks(project, name, field)
                 for name in (session.login, session.refresh, session.signup) if name}  # fmt: skip
        found = {name: hint for name, hint in lacks.items() if hint is not None}
        if found:
            names = ", ".join(f"'{name}'" for name in found)
            yield Diagnostic(
                project.settings.place("session", key), "session",
                f"endpoint {names} answers without '{field}'", next(iter(found.values())),
            )  # fmt: skip


def _lacks(project: CheckedProject, name: str, field: str) -> str | None:
    """Return a hint where an endpoint's answer is known and has no such field, else None."""
    endpoint = project.endpoints.get(name)
    function = project.functions.get(function_of(endpoint)) if endpoint else None
    gives = project.flows.of(function.name).gives if function else None
    if gives is None or gives.kind != "map" or gives.fields is None or gives.rest is not None:
        return None
    return None if field in gives.fields else suggest(field, gives.fields)


CODE = "sign-in-provider"
_TEXTS = frozenset(("string", "text"))
_FLAGS = frozenset(("emailVerified", "blocked"))


def _check_providers(project: Project) -> Iterator[Diagnostic]:
    """Yield providers with which no user could sign in."""
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


def _check_verifying_keys(project: Project) -> Iterator[Diagnostic]:
    """Yield keys of `auth.keys` with one id, and sets of keys that say too little, or too much."""
    settings, auth = project.settings, project.settings.model.auth
    if auth is None:
        return
    seen: set[tuple[str, str]] = set()
    for at, key in enumerate(auth.keys):
        place = settings.place("auth", "keys", at)
        if key.id is not None and (key.id, key.algorithm) in seen:
            yield Diagnostic(
                settings.place("auth", "keys", at, "id"), "verifying-key",
                f"two keys have the id '{key.id}'", "tokens name their key by this id",
            )  # fmt: skip
        seen.add((key.id or "", key.algorithm))
        if key.jwks_url is not None and key.algorithm.startswith("HS"):
            yield Diagnostic(
                place, "verifying-key", f"a JWKS has no keys for {key.algorithm}",
                "whoever can read a key of HS256 can sign with it; a JWKS contains "
                "keys of RS256, ES256 or EdDSA",
            )  # fmt: skip
        elif key.jwks_url is not None and auth.audience is None:
            yield Diagnostic(
                place, "verifying-key",
                "tokens that this issuer issued for other audiences are accepted, too",
                "set the audience they must have: 'auth: { audience: … }'", severity="warning",
            )  # fmt: skip
