"""Sessions: keys that fit together, and endpoints that answer with the fields they name."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.compiler.check._checked import CheckedProject
from bbops.language.project import function_of
from bbops.language.resources.project import Cookie, Session


def check(project: CheckedProject) -> Iterator[Diagnostic]:
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
    """Yield what browsers, or this server, would refuse of a cookie."""
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
