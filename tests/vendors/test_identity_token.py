"""identityToken: tokens, judged as Firebase's own library judges them, and where keys come from."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any, cast

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from bbops.base.host import Host
from bbops.compiler.testing.host import StillClock, fake_host
from bbops.runtime.values.failures import Failure, HttpFailure, Thrown
from bbops.runtime.vendors import link_addons
from bbops.runtime.vendors._work import Work
from bbops.runtime.vendors.identity_token import STEPS
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp
from tests.conftest import run

PROJECT = "my-project"
NOW = 1_780_000_000  # any moment: the library is given the same


@cache
def key(name: str) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


@cache
def certificate(name: str) -> str:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = x509.CertificateBuilder(subject, subject, key(name).public_key(), 1).not_valid_before(
        datetime.now(UTC) - timedelta(days=1)
    )
    signed = made.not_valid_after(datetime.now(UTC) + timedelta(days=9)).sign(
        key(name), hashes.SHA256()
    )
    return signed.public_bytes(serialization.Encoding.PEM).decode()


@dataclass
class Google:
    """A stand-in of where Google publishes its keys."""

    names: list[str] = field(default_factory=lambda: ["a"])
    asked: int = 0
    status: int = 200
    age: str = "public, max-age=20000, must-revalidate, no-transform"
    url: str = ""

    def answer(self, path: str) -> Any:
        """Return the keys as a set, or as certificates for the library."""
        if path.startswith("/certificates"):
            return {name: certificate(name) for name in self.names}
        self.asked += 1
        every = [jwt.algorithms.RSAAlgorithm.to_jwk(key(one).public_key()) for one in self.names]
        more = {"use": "sig", "alg": "RS256"}
        keys = [json.loads(one) | more | {"kid": name}
                for one, name in zip(every, self.names, strict=True)]  # fmt: skip
        return {"keys": keys}


@contextmanager
def serving(google: Google) -> Iterator[Google]:
    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(google.answer(self.path)).encode()
            self.send_response(google.status)
            self.send_header("cache-control", google.age)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        google.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield google
        server.shutdown()
        thread.join()


@pytest.fixture
def google() -> Iterator[Google]:
    with serving(Google()) as found:
        yield found


class Verifying:
    """The step, with a clock that stands."""

    def __init__(self, google: Google, project: str = PROJECT) -> None:
        self.clock = StillClock(datetime.fromtimestamp(NOW, UTC))
        self.http = OutsideHttp(EgressPolicy(["127.0.0.1"]))
        self.host: Host = replace(
            fake_host(cast("Any", None), clock=self.clock, http=self.http), addons=None
        )
        config = {"projectId": ("", project), "endpoint": ("", google.url)}
        declared = {"identityToken": {"enabled": True, "config": config}}
        self.addon = link_addons(declared, {}, self.host)["identityToken"]

    async def verify(self, token: str) -> Any:
        """Return what the step gives."""
        work = Work("identityToken", self.host, self.addon.config, None, kept=self.addon.kept)
        return await STEPS["verifyIdToken"](work, {"idToken": token})

    async def judge(self, token: str) -> str:
        """Return who the token stands for, or the status that it fails with."""
        try:
            return str((await self.verify(token))["uid"])
        except Failure as failure:
            return str(failure.status)


CLAIMS: Mapping[str, Any] = {
    "iss": f"https://securetoken.google.com/{PROJECT}", "aud": PROJECT, "sub": "u1",
    "iat": NOW - 5, "exp": NOW + 3_000, "auth_time": NOW - 5, "email": "a@b.c",
    "email_verified": True, "name": "Ada", "picture": "https://b.c/p.png",
    "firebase": {"sign_in_provider": "password"},
}  # fmt: skip


def make(
    signer: Any = None, kid: Any = "a", algorithm: str = "RS256", drop: tuple[str, ...] = (),
    head: Mapping[str, Any] | None = None, **claims: Any,
) -> str:  # fmt: skip
    """Return a token."""
    held = {name: one for name, one in {**CLAIMS, **claims}.items() if name not in drop}
    headers = {**({} if kid is None else {"kid": kid}), **(head or {})}
    return jwt.encode(held, signer or key("a"), algorithm, cast("Any", headers))


def by_hand(head: Any, claims: Any, sign: Any = None) -> str:
    """Return a token that no library would make."""

    def part(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    text = f"{part(json.dumps(head).encode())}.{part(json.dumps(claims).encode())}"
    return f"{text}.{part(sign(text.encode())) if sign else ''}"


def tokens() -> dict[str, str]:
    """Return every token, by what is odd about it."""
    good, other = make(), key("other")
    hs = certificate("a").encode()

    def by_certificate(text: bytes) -> bytes:
        return hmac.new(hs, text, hashlib.sha256).digest()

    head, middle, signature = good.split(".")
    other_claims = make(sub="admin").split(".")[1]
    rs = {"alg": "RS256", "kid": "a"}
    return {
        "good": good, "without a name": make(drop=("email", "name", "picture", "email_verified")),
        "expired": make(exp=NOW - 60), "expired 5 s ago": make(exp=NOW - 5),
        "expired 10 s ago": make(exp=NOW - 10), "expired 11 s ago": make(exp=NOW - 11),
        "expires now": make(exp=NOW), "issued in 5 s": make(iat=NOW + 5),
        "issued in 10 s": make(iat=NOW + 10), "issued in 11 s": make(iat=NOW + 11),
        "issued in a minute": make(iat=NOW + 60), "issued in 1970": make(iat=1),
        "no exp": make(drop=("exp",)), "no iat": make(drop=("iat",)), "no aud": make(drop=("aud",)),
        "no iss": make(drop=("iss",)), "no sub": make(drop=("sub",)), "null sub": by_hand_null(),
        "empty sub": make(sub=""), "sub of 128": make(sub="x" * 128),
        "sub of 129": make(sub="x" * 129),
        "sub of letters": make(sub="ünïcødé"), "sub with a line": make(sub="a\nb"),
        "aud of another": make(aud="other-project"), "aud in capitals": make(aud=PROJECT.upper()),
        "aud a list of two": make(aud=[PROJECT, "q"]), "aud a list of one": make(aud=[PROJECT]),
        "aud empty": make(aud=""), "aud longer": make(aud=f"{PROJECT}1"),
        "iss of another": make(iss="https://securetoken.google.com/other"),
        "iss of a session": make(iss=f"https://session.firebase.google.com/{PROJECT}"),
        "iss with a slash": make(iss=f"https://securetoken.google.com/{PROJECT}/"),
        "iss without https": make(iss=f"http://securetoken.google.com/{PROJECT}"),
        "iss a list": by_hand_signed({"iss": [CLAIMS["iss"]]}),
        "custom token": make(aud=(
            "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1."
            "IdentityToolkit")),
        "another key": make(other), "unknown kid": make(kid="zz"), "no kid": make(kid=None),
        "empty kid": make(kid=""), "kid of another key": make(other, kid="a"),
        "jku of its own": make(other, kid="zz", head={"jku": "http://127.0.0.1:9/keys"}),
        "jwk of its own": make(other, head={"jwk": json.loads(
            jwt.algorithms.RSAAlgorithm.to_jwk(other.public_key()))}),
        "alg none": by_hand({"alg": "none", "kid": "a"}, dict(CLAIMS)),
        "alg None": by_hand({"alg": "None", "kid": "a"}, dict(CLAIMS)),
        "alg none, signed": by_hand({"alg": "none", "kid": "a"}, dict(CLAIMS), by_certificate),
        "HS256 with the certificate": by_hand(
            {"alg": "HS256", "kid": "a"}, dict(CLAIMS), by_certificate
        ),
        "RS256 said, HS256 done": by_hand(rs, dict(CLAIMS), by_certificate),
        "RS384": make(algorithm="RS384"), "RS512": make(algorithm="RS512"),
        "PS256": make(algorithm="PS256"),
        "ES256": make(ec.generate_private_key(ec.SECP256R1()), algorithm="ES256"),
        "no alg": by_hand({"kid": "a"}, dict(CLAIMS), by_certificate),
        "changed claims": f"{head}.{other_claims}.{signature}",
        "changed signature": f"{head}.{middle}.{'A' * len(signature)}",
        "no signature": f"{head}.{middle}.", "two parts": f"{head}.{middle}",
        "four parts": f"{good}.x", "empty": "", "words": "not a token", "dots": "..",
        "three words": "a.b.c", "a space": f" {good}", "a line": f"{good}\n",
        "claims a list": by_hand(rs, [1], by_certificate),
        "claims a text": by_hand(rs, "u1", by_certificate),
        "huge": "x" * 20_000, "null bytes": "\0" * 30,
    }  # fmt: skip


def by_hand_signed(more: Mapping[str, Any]) -> str:
    from cryptography.hazmat.primitives.asymmetric import padding  # noqa: PLC0415

    def sign(text: bytes) -> bytes:
        return key("a").sign(text, padding.PKCS1v15(), hashes.SHA256())

    return by_hand({"alg": "RS256", "kid": "a"}, {**CLAIMS, **more}, sign)


def by_hand_null() -> str:
    return by_hand_signed({"sub": None})


STRICTER = {
    "no auth_time": lambda: make(drop=("auth_time",)),
    "auth_time in a minute": lambda: make(auth_time=NOW + 60),
    "auth_time a text": lambda: make(auth_time="1"),
    "auth_time true": lambda: make(auth_time=True),
    "exp a text": lambda: by_hand_signed({"exp": str(NOW + 100)}),
}
"""What the library takes, or fails at in ways of its own, and the documents of Google do not."""


def test_there_are_sixty_tokens() -> None:
    assert len(tokens()) >= 60


@pytest.mark.long
def test_each_token_is_judged_as_the_vendors_own_library_judges_it(
    google: Google, monkeypatch: pytest.MonkeyPatch
) -> None:
    import firebase_admin  # noqa: PLC0415 - of the extra `vendors`
    from firebase_admin import _token_gen, auth, credentials  # noqa: PLC0415

    anonymous = import_module("google.auth.credentials").AnonymousCredentials

    class Nobody(credentials.Base):
        def get_credential(self) -> Any:
            return anonymous()

    monkeypatch.setattr(_token_gen, "ID_TOKEN_CERT_URI", f"{google.url}/certificates")
    moment = datetime.fromtimestamp(NOW, UTC).replace(tzinfo=None)
    monkeypatch.setattr(import_module("google.auth._helpers"), "utcnow", lambda: moment)
    app = firebase_admin.initialize_app(Nobody(), {"projectId": PROJECT}, name="judge")

    def library(token: str) -> bool:
        try:
            return bool(auth.verify_id_token(token, app, clock_skew_seconds=10))
        except Exception:  # noqa: BLE001 - it has many, and some are mistakes of its own
            return False

    async def judge() -> dict[str, tuple[bool, bool]]:
        ours = Verifying(google)
        found = {name: (await ours.judge(one) != "401", one) for name, one in tokens().items()}
        await ours.http.close()
        return {name: (mine, library(one)) for name, (mine, one) in found.items()}

    try:
        judged = run(judge())
    finally:
        firebase_admin.delete_app(app)
    assert {name: one for name, one in judged.items() if one[0] != one[1]} == {}
    assert sum(mine for mine, _ in judged.values()) >= 10


def test_a_good_token_is_a_person(google: Google) -> None:
    async def verify() -> Any:
        ours = Verifying(google)
        try:
            return await ours.verify(make())
        finally:
            await ours.http.close()

    assert run(verify()) == {
        "uid": "u1", "email": "a@b.c", "name": "Ada", "picture": "https://b.c/p.png",
        "email_verified": True, "auth_time": NOW - 5,
    }  # fmt: skip


@pytest.mark.parametrize("name", STRICTER)
def test_when_somebody_signed_in_must_be_known(google: Google, name: str) -> None:
    async def judge() -> str:
        ours = Verifying(google)
        try:
            return await ours.judge(STRICTER[name]())
        finally:
            await ours.http.close()

    assert run(judge()) == "401"


def test_every_fault_is_the_same_answer(google: Google) -> None:
    async def judge() -> set[str]:
        ours, found = Verifying(google), set()
        for token in (make(exp=1), make(aud="q"), make(key("other")), "x", make(kid="zz")):
            with pytest.raises(Thrown) as failed:
                await ours.verify(token)
            found.add(f"{failed.value.status} {failed.value.message}")
        await ours.http.close()
        return found

    assert run(judge()) == {"401 a valid token is needed"}


# ---- keys
def test_keys_are_fetched_once_for_all_and_not_for_unknown_ones(google: Google) -> None:
    async def judge() -> None:
        ours = Verifying(google)
        assert set(await asyncio.gather(*(ours.judge(make()) for _ in range(50)))) == {"u1"}
        assert google.asked == 1
        for at in range(20):
            assert await ours.judge(make(kid=f"evil{at}")) == "401"
        assert google.asked == 1
        google.names.append("b")
        ours.clock.moment += timedelta(seconds=31)
        assert await ours.judge(make(key("b"), kid="b")) == "u1"
        assert google.asked == 2
        await ours.http.close()

    run(judge())


def test_old_keys_serve_six_hours_while_google_is_away(google: Google) -> None:
    async def judge() -> None:
        ours, far = Verifying(google), NOW + 10**6
        token = make(exp=far)
        assert await ours.judge(token) == "u1"
        google.status = 503
        ours.clock.moment += timedelta(seconds=20_000 + 6 * 3_600 - 60)
        assert await ours.judge(token) == "u1"
        ours.clock.moment += timedelta(seconds=120)
        with pytest.raises(HttpFailure, match="public keys"):
            await ours.verify(token)
        google.status = 200
        ours.clock.moment += timedelta(seconds=31)
        assert await ours.judge(token) == "u1"
        await ours.http.close()

    run(judge())


@pytest.mark.parametrize("age", ["", "max-age=", "max-age=0", "s-max-age=9, no-store", "max-age=x"])
def test_keys_without_an_age_are_fetched_again(google: Google, age: str) -> None:
    google.age = age

    async def judge() -> None:
        ours = Verifying(google)
        token = make(exp=NOW + 10**6)
        assert await ours.judge(token) == "u1"
        ours.clock.moment += timedelta(seconds=601)
        assert await ours.judge(token) == "u1"
        for _ in range(500):
            if google.asked == 2:
                break
            await asyncio.sleep(0.02)  # it is fetched beside
        assert google.asked == 2
        await ours.http.close()

    run(judge())


def test_without_any_key_nobody_is_let_in(google: Google) -> None:
    google.status = 500

    async def judge() -> None:
        ours = Verifying(google)
        with pytest.raises(HttpFailure, match="public keys of the identity platform are missing"):
            await ours.verify(make())
        await ours.http.close()

    run(judge())
