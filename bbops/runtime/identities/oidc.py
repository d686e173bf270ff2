"""Sign-in by OpenID Connect (code flow with PKCE), and its variant at Apple.

Source of Apple's secret and callback: https://developer.apple.com/documentation/signinwithapple
("Creating a client secret").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hmac import compare_digest
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from bbops.base.host import Host
from bbops.runtime.auth.keys import read_key
from bbops.runtime.identities.asking import Asking, is_safe
from bbops.runtime.identities.kinds import (
    KINDS,
    MOST_SUBJECT,
    Identity,
    Settings,
    is_own,
    read_email,
    read_name,
)
from bbops.runtime.identities.started import Started
from bbops.runtime.values.failures import FlowError

KEPT_SECONDS: Final = 3_600.0
AGAIN_SECONDS: Final = 60.0
"""So long after the keys were fetched no unknown key causes that again."""
LEEWAY_SECONDS: Final = 60
ANY_TENANT: Final = frozenset(("common", "organizations", "consumers"))
_GUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch
_ALGORITHMS: Final = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
)
_TRUE: Final = (True, "true", "True", 1, "1")


class Oidc:
    """One provider. What it says of itself, and its keys, are kept for an hour."""

    posts = False
    """Whether it answers with a POST of the browser."""

    def __init__(self, settings: Settings, host: Host) -> None:
        self.settings, self.host = settings, host
        self.ask = Asking(settings.name, host)
        self._about: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, list[Any]] = (float("-inf"), [])

    async def begin(self, started: Started, redirect_uri: str) -> str:
        """Return where the browser goes to.

        Raises:
            Thrown: the provider cannot be reached, or is another one than was named.
        """
        about = await self._read_about()
        query = {
            "response_type": "code", "client_id": self.settings.client_id,
            "redirect_uri": redirect_uri, "scope": KINDS[self.settings.kind].scope,
            "state": started.state, "nonce": started.nonce,
            "code_challenge": started.challenge, "code_challenge_method": "S256",
            **({"response_mode": "form_post"} if self.posts else {}),
        }  # fmt: skip
        address = self._text(about, "authorization_endpoint")
        if not is_safe(address):
            raise self.ask.refuse("it names an address without https")
        return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"

    async def finish(
        self, started: Started, redirect_uri: str, given: Mapping[str, str]
    ) -> Identity:
        """Return whom the provider has sent.

        Args:
            started: of the browser that comes back.
            redirect_uri: as `begin` had it.
            given: what the browser brings: `code` among it.

        Raises:
            Thrown: it vouches for nobody, or for somebody else.
        """
        about = await self._read_about()
        form = {
            "grant_type": "authorization_code", "code": given["code"],
            "redirect_uri": redirect_uri, "code_verifier": started.verifier,
            "client_id": self.settings.client_id,
        }  # fmt: skip
        secret = self.client_secret()
        methods = about.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        client: tuple[str, str] | None = (self.settings.client_id, secret)
        if type(methods) is not list or "client_secret_basic" not in methods:
            form, client = form | {"client_secret": secret}, None
        answer = await self.ask.post(self._text(about, "token_endpoint"), form, client)
        claims = await self._verify(about, self._text(answer, "id_token"), started.nonce)
        if "email" not in claims and "userinfo_endpoint" in about:
            claims = await self._add_userinfo(about, claims, answer)
        return self._identity(claims, given)

    def is_from(self, issuer: str | None) -> bool:
        """Return whether an answer names no other issuer (RFC 9207)."""
        return issuer is None or self._is_issuer(issuer, None)

    def client_secret(self) -> str:
        """Return what proves who we are."""
        return self.settings.secret

    # ---- what it says of itself
    async def _read_about(self) -> dict[str, Any]:
        now = self.host.clock.now().timestamp()
        if self._about is None or not 0 <= now - self._about[0] <= KEPT_SECONDS:
            base = self.settings.issuer.rstrip("/")
            found = await self.ask.get(f"{base}/.well-known/openid-configuration")
            if type(found) is not dict or not self._is_named(found.get("issuer")):
                raise self.ask.refuse("it is another issuer than the project names")
            self._about = now, found
        return self._about[1]

    def _is_named(self, issuer: object) -> bool:
        """Return whether it calls itself what the project does.

        That of all tenants of Microsoft says `{tenantid}` where an ID token says which.
        """
        is_of_all = self._any_tenant and issuer == f"{self._tenants}/{{tenantid}}/v2.0"
        return is_of_all or self._is_issuer(issuer, None)

    @property
    def _tenants(self) -> str:
        return self.settings.issuer.rsplit("/", 2)[0]

    @property
    def _any_tenant(self) -> bool:
        """Whether Microsoft sends users of more than one tenant."""
        parts = self.settings.issuer.rsplit("/", 2)
        return self.settings.kind == "microsoft" and len(parts) == 3 and parts[1] in ANY_TENANT

    def _is_issuer(self, issuer: object, tenant: object) -> bool:
        """Return whether an ID token is of this issuer, and of the tenant that it names itself."""
        if issuer == self.settings.issuer:
            return True
        if not self._any_tenant or type(issuer) is not str:
            return False
        found = issuer.removeprefix(f"{self._tenants}/").removesuffix("/v2.0")
        is_whole = issuer == f"{self._tenants}/{found}/v2.0"
        return is_whole and _GUID(found) is not None and tenant in (None, found)

    # ---- the ID token
    async def _verify(self, about: dict[str, Any], token: str, nonce: str) -> dict[str, Any]:
        """Return the claims of an ID token (OpenID Connect Core section 3.1.3.7)."""
        import jwt  # noqa: PLC0415 - see `bbops.runtime.auth.keys`

        try:
            header = jwt.get_unverified_header(token)
            key = await self._find_key(about, header.get("kid"), header.get("alg"))
            claims: dict[str, Any] = jwt.decode(
                token, key, algorithms=[key.algorithm_name], audience=self.settings.client_id,
                options={
                    "require": ["exp", "iat", "sub", "aud", "iss"],
                    "verify_exp": False, "verify_iat": False, "verify_nbf": False,
                },
            )  # fmt: skip
        except (jwt.PyJWTError, ValueError, TypeError, AttributeError):  # its keys may be none
            raise self.ask.refuse("its ID token is not for us, or not signed by it") from None
        problem = self._problem(claims, nonce)
        if problem:
            raise self.ask.refuse(problem)
        return claims

    def _problem(self, claims: dict[str, Any], nonce: str) -> str:
        """Return what is wrong with an ID token that is signed; empty if nothing is."""
        now = self.host.clock.now().timestamp()
        times = [claims["exp"], claims["iat"], claims.get("nbf", 0)]
        if any(type(one) not in {int, float} for one in times):
            return "its ID token has times that are none"
        begins = all(one <= now + LEEWAY_SECONDS for one in times[1:])  # what is no number is not
        if not (times[0] > now - LEEWAY_SECONDS and begins):
            return "its ID token is not of this time"
        if not self._is_issuer(claims["iss"], claims.get("tid")):
            return "its ID token is of another issuer"
        others = type(claims["aud"]) is list and len(claims["aud"]) > 1
        if claims.get("azp", "" if others else self.settings.client_id) != self.settings.client_id:
            return "its ID token is for another client"
        given = claims.get("nonce")
        if type(given) is not str or not compare_digest(given.encode(), nonce.encode()):
            return "its ID token is of another sign-in"
        return ""

    async def _find_key(self, about: dict[str, Any], key_id: object, algorithm: object) -> Any:
        import jwt  # noqa: PLC0415

        found = self._pick(key_id, algorithm)
        now = self.host.clock.now().timestamp()
        if found is None and not 0 <= now - self._keys[0] < AGAIN_SECONDS:
            listed = await self.ask.get(self._text(about, "jwks_uri"))
            self._keys = now, jwt.PyJWKSet.from_dict(listed).keys[:100]
            found = self._pick(key_id, algorithm)
        if found is None:
            raise self.ask.refuse("its ID token names a key that it does not publish")
        return found

    def _pick(self, key_id: object, algorithm: object) -> Any:
        now = self.host.clock.now().timestamp()
        if not 0 <= now - self._keys[0] <= KEPT_SECONDS or algorithm not in _ALGORITHMS:
            return None
        keys = [
            one for one in self._keys[1]
            if one.public_key_use in {None, "sig"} and one.algorithm_name == algorithm
        ]  # fmt: skip
        if key_id is None:
            return keys[0] if len(keys) == 1 else None
        return next((one for one in keys if one.key_id == key_id), None)

    async def _add_userinfo(
        self, about: dict[str, Any], claims: dict[str, Any], answer: dict[str, Any]
    ) -> dict[str, Any]:
        address, token = self._text(about, "userinfo_endpoint"), self._text(answer, "access_token")
        found = await self.ask.get(address, token)
        if type(found) is not dict or found.get("sub") != claims["sub"]:
            raise self.ask.refuse("it tells of another user than its ID token")
        return {**found, **claims}

    # ---- whom it has sent
    def _identity(self, claims: dict[str, Any], given: Mapping[str, str]) -> Identity:
        subject = claims["sub"]
        if type(subject) is not str or not 0 < len(subject) <= MOST_SUBJECT:
            raise self.ask.refuse("its ID token names nobody")
        email = read_email(claims.get("email"))
        if not self._has_verified(claims, email):
            email = None
        return Identity(
            str(claims["iss"]), subject, email, self._is_authoritative(claims, email),
            self.name_of(claims, given),
        )  # fmt: skip

    def _has_verified(self, claims: dict[str, Any], email: str | None) -> bool:
        if self.settings.kind == "microsoft":
            # its `email` is what an administrator of any tenant has typed, unless this says more
            is_owned = claims.get("xms_edov") in _TRUE
            return is_owned or (not self._any_tenant and is_own(email, self.settings.domains))
        return claims.get("email_verified") in _TRUE

    def _is_authoritative(self, claims: dict[str, Any], email: str | None) -> bool:
        kind = self.settings.kind
        if email is None or (kind == "microsoft" and self._any_tenant):
            return False
        if is_own(email, (*KINDS[kind].domains, *self.settings.domains)):
            return True
        # https://developers.google.com/identity/gsi/web/guides/verify-google-id-token
        return kind == "google" and type(claims.get("hd")) is str and bool(claims["hd"])

    def name_of(self, claims: dict[str, Any], given: Mapping[str, str]) -> str:
        """Return what a user is called."""
        del given
        return read_name(claims.get("name"))

    def _text(self, found: dict[str, Any], name: str) -> str:
        value = found.get(name)
        if type(value) is not str:
            raise self.ask.refuse(f"its answer lacks '{name}'")
        return value


SECRET_SECONDS: Final = 300


class Apple(Oidc):
    """Apple: the client's secret is a JWT of ours, and the browser comes back with a form."""

    posts = True

    def __init__(self, settings: Settings, host: Host) -> None:
        """Raises: FlowError: the private key is none."""
        super().__init__(settings, host)
        try:
            self._key, _ = read_key(settings.secret, "ES256")
        except ValueError as error:
            raise FlowError(f"the private key of provider '{settings.name}': {error}") from None
        if self._key is None:
            raise FlowError(f"the private key of provider '{settings.name}' is a public one")

    def client_secret(self) -> str:
        """Return a JWT that lives for five minutes."""
        import jwt  # noqa: PLC0415 - see `bbops.runtime.auth.keys`

        now, of = int(self.host.clock.now().timestamp()), self.settings
        claims = {
            "iss": of.team_id, "iat": now, "exp": now + SECRET_SECONDS, "aud": of.issuer,
            "sub": of.client_id,
        }  # fmt: skip
        return jwt.encode(claims, self._key, "ES256", headers={"kid": of.key_id})

    def name_of(self, claims: dict[str, Any], given: Mapping[str, str]) -> str:
        """Return the name that comes beside the token, and only the first time.

        It is the browser's word: no more than what somebody likes to be called.
        """
        try:
            user = msgspec.json.decode(given.get("user", "") or "{}")
            parts = user["name"]
            return read_name(f"{parts.get('firstName', '')} {parts.get('lastName', '')}")
        except (msgspec.DecodeError, RecursionError, KeyError, TypeError, AttributeError):
            return super().name_of(claims, given)
