"""A request to the control plane: its caller, form fields and responses.

A change by a session needs the CSRF token of its page; a token in the Authorization header does
not, since no page of another site can send it, and it overrides the session.
"""

from __future__ import annotations

import hmac
import re
from datetime import timedelta
from ipaddress import ip_address, ip_network
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlsplit

from litestar import Request, Response
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.exceptions import NotAuthorizedException, PermissionDeniedException
from litestar.params import SkipValidation
from litestar.response import Redirect, Template

from bbops_server.accounts.ci_tokens import PREFIX
from bbops_server.accounts.keys import make_key
from bbops_server.accounts.people import Person
from bbops_server.accounts.rules import LOCAL, NOBODY, Caller, Permission, Role, may, role_in
from bbops_server.accounts.sessions import LONGEST
from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.web.guard import is_here
from bbops_server.control_plane.web.known_devices import LASTS_SECONDS
from bbops_server.control_plane.web.state import ControlState

AnyRequest = Request[Any, Any, Any]
Answer = TypeVar("Answer", bound=Response[Any])
CSRF_HEADER: Final = "x-csrf-token"
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_BY_TOKEN: Final = frozenset({"token", "grant", "ci"})
_VISIT_KEY: Final = re.compile(r"bbv_[a-z0-9]{40}")
_RETURN_TO: Final = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,3000}")
_VISIT_LASTS: Final = timedelta(hours=12)
_MAX_FIELD: Final = 4_000
THEMES: Final = ("light", "dark")
_THEME_LASTS: Final = timedelta(days=400)
"""The longest time for which browsers keep a cookie."""


class Visit:
    """A request to the control plane, created before its handler runs."""

    def __init__(self, request: AnyRequest, control: ControlState) -> None:
        self.request, self.control, self.book = request, control, control.book
        control.proxies.apply(request.scope)
        self.address = request.client.host if request.client else ""
        self.caller: Caller = NOBODY
        self.session_key = ""
        self.visit_key = request.cookies.get(self.cookie_name("-visit"), "")
        self._is_new = not _VISIT_KEY.fullmatch(self.visit_key)
        if self._is_new:
            self.visit_key = make_key("bbv")

    # ---- identity
    @property
    def is_secure(self) -> bool:
        """Whether the browser uses HTTPS: the request's host is the host of the public URL."""
        url = urlsplit(self.control.settings.control_url.lower())
        return url.scheme == "https" and self.request.headers.get("host", "").lower() == url.netloc

    @property
    def network(self) -> str:
        """The network of a rate limit: an IPv4 address, or the /64 prefix of an IPv6 address."""
        try:
            found = ip_address(self.address)
            found = getattr(found, "ipv4_mapped", None) or found
            return str(ip_network(f"{found}/64", strict=False) if found.version == 6 else found)
        except ValueError:  # a link-local address with its zone, or an empty address
            return self.address

    def cookie_name(self, end: str = "") -> str:
        """Return the name of the session's cookie; browsers accept `__Host-` with HTTPS only."""
        return ("__Host-bbops" if self.is_secure else "bbops") + end

    @property
    def device_cookie(self) -> str:
        """The device cookie of an earlier sign-in, not yet verified."""
        return self.request.cookies.get(self.cookie_name("-device"), "")

    @property
    def theme(self) -> str:
        """The theme that the user has chosen: `light` or `dark`; empty for the system's."""
        chosen = self.request.cookies.get(self.cookie_name("-theme"), "")
        return chosen if chosen in THEMES else ""

    async def identify(self) -> None:
        """Authenticate the caller.

        Raises:
            NotAuthorizedException: the token is unknown, expired or revoked.
        """
        authorization = self.request.headers.get("authorization")
        if authorization is not None:
            self.caller = await self._find_token(authorization)
            return
        key = self.request.cookies.get(self.cookie_name(), "")
        caller = await self.control.run(self.book.sessions.find, key) if key else None
        if caller is not None:
            self.caller, self.session_key = caller, key
        elif await self._is_this_machine():
            self.caller = LOCAL

    async def _find_token(self, authorization: str) -> Caller:
        scheme, _, key = authorization.partition(" ")
        key = key.strip()
        if scheme.lower() == "bearer" and self.control.is_local_key(key):
            return LOCAL
        if key.startswith("bba_"):
            raise unauthorized("this agent's token can only be used at the MCP server")
        if scheme.lower() == "bearer" and key.startswith(PREFIX):
            return await self._find_workflow(key)
        is_key = scheme.lower() == "bearer" and key.startswith("bbp_")
        caller = await self.control.run(self.book.tokens.find, key) if is_key else None
        if caller is None:
            raise unauthorized("this token is unknown, expired or revoked")
        return caller

    async def _find_workflow(self, key: str) -> Caller:
        trusts = self.control.settings.access.trusts
        caller = await self.control.run(self.book.ci_tokens.find, key, trusts)
        if caller is None:
            raise unauthorized("this workflow's token is unknown, has ended or is not trusted now")
        return caller

    async def _is_this_machine(self) -> bool:
        """Return whether no account exists, and the server is configured for this machine only."""
        is_local_server = self.control.settings.is_for_this_machine
        is_near = is_here(self.request.headers.get("host", "")) and (
            "x-forwarded-for" not in self.request.headers
        )
        return is_local_server and is_near and not await self.control.is_set_up()

    # ---- form fields
    @property
    def csrf(self) -> str:
        """The CSRF token of every form: bound to the session, or to the visit before sign-in."""
        secret = self.session_key or self.visit_key
        return hmac.new(secret.encode(), b"csrf", "sha256").hexdigest()

    def seal(self, text: str) -> str:
        """Return a signature that proves that this session was shown a text."""
        return hmac.new(self.session_key.encode(), f"seal {text}".encode(), "sha256").hexdigest()

    async def check_csrf(self, *, is_form: bool) -> None:
        """Reject a change without the CSRF token of one of our pages.

        Raises:
            PermissionDeniedException: the CSRF token is missing or wrong.
        """
        if self.caller.how in _BY_TOKEN or not (is_form or self.caller.how == "session"):
            return
        given = self.request.headers.get(CSRF_HEADER, "") or await self.field("csrf")
        is_known = bool(self.session_key) or not self._is_new
        if not (
            is_known and hmac.compare_digest(given.encode(errors="replace"), self.csrf.encode())
        ):
            raise PermissionDeniedException("this form has expired; reload the page")

    async def field(self, name: str) -> str:
        """Return a field of the form; empty if it is missing."""
        value = (await self.request.form()).get(name, "")
        return value[:_MAX_FIELD] if isinstance(value, str) else ""

    async def fields(self, name: str) -> list[str]:
        """Return all values of a field, such as checkboxes."""
        values = (await self.request.form()).getall(name, [])
        return [value for value in values if isinstance(value, str)][:100]

    @property
    def user_agent(self) -> str:
        """The browser's User-Agent header."""
        return self.request.headers.get("user-agent", "")

    def may(self, permission: Permission, project: str = "") -> bool:
        """Return whether the caller has a permission."""
        return may(self.caller, permission, project)

    def role(self, project: str = "") -> Role | None:
        """Return the caller's role in a project, or in the workspace; None without one."""
        return role_in(self.caller, project)

    @property
    def name(self) -> str:
        """The caller's name for pages: the name of the account, or its address."""
        return self.caller.name or self.caller.email

    # ---- responses
    def page(self, name: str, status: int = 200, /, **context: Any) -> Template:
        """Return a page, with the cookie to which its forms are bound."""
        error = context.pop("error", None)
        known = {
            "visit": self, "csrf": self.csrf, "caller": self.caller, "P": Permission,
            "path": self.request.url.path, "error": error,
        }  # fmt: skip
        answer = Template(f"{name}.html", context=known | context, status_code=status)
        return self.keep(answer)

    def keep(self, answer: Answer) -> Answer:
        """Return a response with the cookie that identifies the browser before sign-in."""
        if self._is_new and not self.session_key:
            lasts = int(_VISIT_LASTS.total_seconds())
            answer.set_cookie(self._cookie("-visit", self.visit_key, lasts))
        return answer

    def keep_theme(self, answer: Answer, theme: str) -> Answer:
        """Return a response that keeps a theme in the browser; any other text is the system's."""
        lasts = int(_THEME_LASTS.total_seconds()) if theme in THEMES else 0
        answer.set_cookie(self._cookie("-theme", theme if lasts else "", lasts))
        return answer

    def go(self, path: str) -> Redirect:
        """Redirect the browser to another page of the control plane."""
        return Redirect(path, status_code=303)

    async def sign_in(self, person: Person, return_to: str, how: str) -> Redirect:
        """Start a new session, end the current one, and redirect the browser."""
        if self.caller.how == "session":
            await self.control.run(self.book.sessions.end, self.caller.person, self.caller.key)
        key = await self.control.run(
            self.book.sessions.begin, person.id, user_agent=self.user_agent, address=self.address
        )
        await self.note("sign in", object=how, who=person.email)
        answer = self.go(local_path(return_to))
        answer.set_cookie(self._cookie("", key, int(LONGEST.total_seconds())))
        device = await self.control.run(self.control.devices.make, person.email)
        answer.set_cookie(self._cookie("-device", device, LASTS_SECONDS))
        answer.set_cookie(self._cookie("-visit", "", 0))
        return answer

    async def sign_out(self) -> Redirect:
        """End the current session, if there is one."""
        if self.caller.how == "session":
            await self.control.run(self.book.sessions.end, self.caller.person, self.caller.key)
            await self.note("sign out")
        answer = self.go("/signin?done=out")
        answer.set_cookie(self._cookie("", "", 0))
        return answer

    async def note(
        self, action: str, object: str = "", outcome: str = "done", *, who: str = ""  # noqa: A002
    ) -> None:  # fmt: skip
        """Write into the audit log; at most 1,000 entries an hour for anonymous callers."""
        who = who or self.caller.email
        if not who and self.control.limits.anonymous.take(""):
            return
        token = self.caller.key if self.caller.how in _BY_TOKEN else ""
        await self.control.run(
            self.book.audit.add, action, who=who, token=token, object=object,
            address=self.address, outcome=outcome,
        )  # fmt: skip

    def _cookie(self, end: str, value: str, max_age: int) -> Cookie:
        return Cookie(
            self.cookie_name(end), value=value, path="/", max_age=max_age, httponly=True,
            secure=self.is_secure, samesite="lax",
        )  # fmt: skip


Here = NamedDependency[SkipValidation[Visit]]
"""The type of a handler's parameter `visit`."""


def unauthorized(message: str) -> NotAuthorizedException:
    """Return the 401 that asks for a bearer token."""
    return NotAuthorizedException(message, headers={"www-authenticate": "Bearer"})


def local_path(text: str) -> str:
    """Return a path of the control plane; the front page for other URLs."""
    return text if _RETURN_TO.fullmatch(text) else "/"


def sign_in_path(request: AnyRequest) -> str:
    """Return the sign-in page, with the path to return to."""
    query = f"?{request.url.query}" if request.url.query else ""
    back = request.url.path + query if request.method in _SAFE_METHODS else "/"
    return f"/signin?return_to={quote(local_path(back), safe='')}"


def too_many_attempts(seconds: int) -> AccountError:
    """Return the error for an exceeded rate limit."""
    return AccountError(f"too many attempts; try again in {seconds} s")


def add_retry_after(answer: Response[Any], seconds: int) -> Response[Any]:
    """Return a response with a Retry-After header."""
    answer.headers["retry-after"] = str(seconds)
    return answer
