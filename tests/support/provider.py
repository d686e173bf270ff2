"""A small OpenID Connect provider, and a small GitHub, on loopback: real keys, real HTTP."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

import jwt

from tests.support.signing_keys import rsa_key

CLIENT, SECRET = "bbops", "a secret: with signs"


class TestProvider(ThreadingHTTPServer):
    """Signs in whoever `claims` names. `change` spoils its next ID tokens."""

    __test__ = False
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.claims: dict[str, Any] = {
            "sub": "17", "email": "bob@example.com", "email_verified": True, "name": "Bob",
        }  # fmt: skip
        self.emails = [{"email": "bob@example.com", "primary": True, "verified": True}]
        self.change: dict[str, Any] = {}
        self.about: dict[str, Any] = {}
        self.key, self.algorithm = rsa_key(), "RS256"
        self.codes: dict[str, dict[str, str]] = {}
        self.posts = list[dict[str, str]]()
        """Forms that came to the token endpoint."""
        self.keeps_codes = False
        """A code is good more than once."""
        self.tenant = ""
        """Whose accounts they are, as at Microsoft."""
        self.apple: Any = None
        """The public key of a client whose secret is a JWT, as Apple's."""
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.shutdown()
        self.thread.join()
        self.server_close()

    def id_token(self, asked: dict[str, str]) -> str:
        now = int(time.time())
        claims = {
            "iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 60,
            "nonce": asked.get("nonce"), **self.claims, **self.change,
        }  # fmt: skip
        kept = {name: value for name, value in claims.items() if value is not None}
        key: Any = self.key
        return jwt.encode(kept, key, self.algorithm, headers={"kid": "k1"})


class Answering(BaseHTTPRequestHandler):
    server: TestProvider

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        there, (path, query) = self.server, self.asked(self.path)
        if there.tenant:
            path = path.removeprefix(f"/{there.tenant}/v2.0")
        match path:
            case "/.well-known/openid-configuration":
                self.send(self.about())
            case "/jwks":
                key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(rsa_key().public_key()))
                self.send({"keys": [key | {"kid": "k1", "use": "sig", "alg": "RS256"}]})
            case "/authorize" | "/login/oauth/authorize":
                code = f"code{len(there.codes)}"
                there.codes[code] = query
                if query.get("response_mode") == "form_post":
                    self.send({"code": code, "state": query["state"]})
                    return
                back = urlencode({"code": code, "state": query["state"]})
                self.send_response(302)
                self.send_header("location", f"{query['redirect_uri']}?{back}")
                self.end_headers()
            case "/userinfo" | "/api/v3/user" if self.headers["authorization"] == "Bearer at":
                self.send({"id": 42, "login": "bob", **there.claims})
            case "/api/v3/user/emails" if self.headers["authorization"] == "Bearer at":
                self.send(there.emails)
            case _:
                self.send({"error": "not found"}, 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        path, form = self.asked(f"{self.path}?{body}")
        self.server.posts.append(form)
        asked = self.server.codes.get(form.get("code", ""))
        if not self.server.keeps_codes:
            self.server.codes.pop(form.get("code", ""), None)
        given = form.get("code_verifier", "").encode()
        challenge = base64.urlsafe_b64encode(hashlib.sha256(given).digest()).rstrip(b"=").decode()
        is_right = asked is not None and challenge == asked["code_challenge"]
        is_right = is_right and form["redirect_uri"] == (asked or {})["redirect_uri"]
        if not is_right or not self.knows(form):
            self.send({"error": "invalid_grant"}, 200 if path.startswith("/login") else 400)
        elif path.startswith("/login"):
            self.send({"access_token": "at", "token_type": "bearer"})
        else:
            self.send({"access_token": "at", "id_token": self.server.id_token(asked or {})})

    def knows(self, form: dict[str, str]) -> bool:
        client, secret = self.client(form)
        apple = self.server.apple
        if apple is None:
            return (client, secret) == (CLIENT, SECRET)
        found = jwt.decode(secret, apple, ["ES256"], audience=self.server.url)
        return client == found["sub"] == CLIENT

    def client(self, form: dict[str, str]) -> tuple[str, str]:
        header = self.headers["authorization"]
        if header is None:
            return form["client_id"], form["client_secret"]
        name, _, secret = base64.b64decode(header.removeprefix("Basic ")).decode().partition(":")
        return unquote_plus(name), unquote_plus(secret)

    def about(self) -> dict[str, Any]:
        url, tenant = self.server.url, self.server.tenant
        named = "{tenantid}" if tenant == "common" else tenant
        return {
            "issuer": url, "authorization_endpoint": f"{url}/authorize",
            "token_endpoint": f"{url}/token", "jwks_uri": f"{url}/jwks",
            "userinfo_endpoint": f"{url}/userinfo", **self.server.about,
            **({"issuer": f"{url}/{named}/v2.0"} if named else {}),
        }  # fmt: skip

    def asked(self, target: str) -> tuple[str, dict[str, str]]:
        parts = urlsplit(target)
        return parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()}

    def send(self, value: object, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
