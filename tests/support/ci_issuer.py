"""An issuer of identity tokens on loopback, with claims as GitHub and GitLab document them."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from tests.support.signing_keys import other_rsa_key, p256_key, rsa_key

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
SHA = "4c1e2a91c04d17b2a91c04d17b2a91c04d17b2a9"
REPOSITORY, OWNER = 1_296_269, 583_231
MAIN = "refs/heads/main"
FILE = ".github/workflows/bbops.yml"
JOB_KEY = "key-of-the-job"
_numbers = itertools.count(1)


class CiIssuer(ThreadingHTTPServer):
    """Signs tokens with `keys`, and publishes `published`.

    Attributes:
        document: the response at `/jwks` instead of the keys.
        redirect: the target of `/jwks`.
        gate: requests for keys wait until it is set.
        requests: the paths that were requested.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.keys: dict[str, Key] = {"k1": rsa_key(), "e1": p256_key()}
        self.published = ["k1", "e1"]
        self.document: bytes | None = None
        self.redirect, self.requests = "", list[str]()
        self.metadata: dict[str, Any] = {}
        self.job_claims: dict[str, Any] = {}
        """Changes of the claims of tokens that jobs request with JOB_KEY."""
        self.gate = threading.Event()
        self.gate.set()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.gate.set()
        self.shutdown()
        self._thread.join()
        self.server_close()

    @property
    def fetches(self) -> int:
        """The number of requests for keys."""
        return self.requests.count("/jwks")

    def rotate(self) -> None:
        """Sign with a new key, and publish it beside the others."""
        self.keys["k2"] = other_rsa_key()
        self.published.append("k2")

    def sign(self, claims: dict[str, Any], key_id: str = "k1") -> str:
        key = self.keys[key_id]
        algorithm = "RS256" if isinstance(key, rsa.RSAPrivateKey) else "ES256"
        kept = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(kept, key, algorithm, headers={"kid": key_id})

    def github(self, audience: str, **changes: Any) -> dict[str, Any]:
        """Return the claims of a push to main; `changes` replace some, None removes one."""
        now = int(time.time())
        ref = changes.get("ref", MAIN)
        return {
            "jti": f"example-id-{next(_numbers)}", "iss": self.url, "aud": audience,
            "sub": f"repo:octo-org/octo-repo:ref:{ref}", "iat": now, "nbf": now - 600,
            "exp": now + 300, "ref": MAIN, "sha": SHA, "repository": "octo-org/octo-repo",
            "repository_owner": "octo-org", "repository_id": str(REPOSITORY),
            "repository_owner_id": str(OWNER), "repository_visibility": "private",
            "actor": "octocat", "actor_id": "12", "run_id": "1658821493", "run_number": "10",
            "run_attempt": "2", "runner_environment": "github-hosted", "workflow": "publish",
            "head_ref": "", "base_ref": "", "event_name": "push", "ref_type": "branch",
            "job_workflow_ref": f"octo-org/octo-repo/{FILE}@{ref}",
            "workflow_ref": f"octo-org/octo-repo/{FILE}@{ref}", "workflow_sha": SHA, **changes,
        }  # fmt: skip

    def gitlab(self, audience: str, **changes: Any) -> dict[str, Any]:
        """Return the claims of a branch pipeline, as `github` does."""
        now = int(time.time())
        return {
            "jti": f"235b3a54-{next(_numbers)}", "iss": self.url, "aud": audience,
            "sub": "project_path:my-group/my-project:ref_type:branch:ref:main", "iat": now,
            "nbf": now - 5, "exp": now + 3_600, "namespace_id": str(OWNER),
            "namespace_path": "my-group", "project_id": str(REPOSITORY),
            "project_path": "my-group/my-project", "user_id": "1", "user_login": "sample-user",
            "user_email": "sample-user@example.com", "pipeline_id": "574", "job_id": "302",
            "pipeline_source": "push", "ref": "main", "ref_type": "branch",
            "ref_path": MAIN, "ref_protected": "true", "runner_id": 1, "sha": SHA,
            "runner_environment": "self-hosted", "project_visibility": "public",
            "ci_config_ref_uri": f"gitlab.example.com/my-group/my-project//.gitlab-ci.yml@{MAIN}",
            "ci_config_sha": SHA, **changes,
        }  # fmt: skip

    def jwks(self) -> bytes:
        return json.dumps({"keys": [self._publish(name) for name in self.published]}).encode()

    def _publish(self, name: str) -> dict[str, Any]:
        key = self.keys[name]
        is_rsa = isinstance(key, rsa.RSAPrivateKey)
        form: Any = jwt.algorithms.RSAAlgorithm if is_rsa else jwt.algorithms.ECAlgorithm
        public: dict[str, Any] = json.loads(form.to_jwk(key.public_key()))
        return public | {"kid": name, "use": "sig", "alg": "RS256" if is_rsa else "ES256"}


class _Handler(BaseHTTPRequestHandler):
    server: CiIssuer

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        issuer = self.server
        issuer.requests.append(self.path)
        if self.path == "/.well-known/openid-configuration":
            about = {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/jwks", **issuer.metadata}
            self.reply(json.dumps(about).encode())
            return
        if self.path.startswith("/token?"):
            self.issue(issuer)
            return
        issuer.gate.wait(60)
        if issuer.redirect:
            self.send_response(302)
            self.send_header("location", issuer.redirect)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        self.reply(issuer.jwks() if issuer.document is None else issuer.document)

    def issue(self, issuer: CiIssuer) -> None:
        """Respond as the token service of GitHub."""
        audience = parse_qs(urlsplit(self.path).query).get("audience", [""])[0]
        if self.headers["authorization"] != f"Bearer {JOB_KEY}":
            self.send_error(401)
            return
        token = issuer.sign(issuer.github(audience, **issuer.job_claims))
        self.reply(json.dumps({"count": len(token), "value": token}).encode())

    def reply(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def issuer() -> Iterator[CiIssuer]:
    issuer = CiIssuer()
    yield issuer
    issuer.close()
