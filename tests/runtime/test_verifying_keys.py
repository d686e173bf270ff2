"""Keys of others: given by variables or published as sets, each for one algorithm."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest

from bbops.base.host import HttpRequest, HttpResponse
from bbops.compiler.check import validate
from bbops.compiler.testing.client import Client, serve
from bbops.runtime.auth.key_sets import MAX_BYTES, MAX_KEYS
from bbops.runtime.values.failures import FlowError, HttpFailure
from bbops.source.tree import MemoryTree
from tests.conftest import ENV, Files, run
from tests.support.public_keys import public
from tests.support.raw_requests import NOW, routes, token
from tests.support.signing_keys import (
    ed25519_key,
    other_rsa_key,
    p256_key,
    p384_key,
    rsa_key,
    weak_rsa_key,
)

URL = "https://login.example.com/keys"
OLD = "an-old-key-that-has-more-than-32-characters"
WHO = "steps:\n  - return: { value: '${ vars.auth }' }\n"
SHOWN = "steps:\n  - verifyJwt: {}\n    as: user\n  - return: { value: '${ vars.user.userId }' }\n"


def project(keys: str, *, audience: str = "") -> Files:
    files = routes("GET /who who JWT", "GET /shown shown None", who=WHO, shown=SHOWN)
    files["project.yaml"] = (
        "bbops: 1\nname: sample\nenv:\n  JWT_SECRET: { secret: true }\n"
        "  THEIRS: { required: false }\n"
        f"auth:\n  signingKey: ${{ env.JWT_SECRET }}\n  keys: [{keys}]\n"
    ) + (f"  audience: {audience}\n" if audience else "")
    return files


def jwk(key: Any, algorithm: str, **change: Any) -> dict[str, Any]:
    text = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key())
    found = {"alg": algorithm, "use": "sig", **json.loads(text), **change}
    return {name: value for name, value in found.items() if value is not None}


def signed(key: Any, algorithm: str, head: dict[str, Any] | None = None, **claims: Any) -> Any:
    given = {"sub": "u1", "exp": NOW + 600, **claims}
    return {"authorization": f"Bearer {jwt.encode(given, key, algorithm, headers=head)}"}


@dataclass
class Publisher:
    """Another server that publishes its keys."""

    keys: list[Any] = field(default_factory=list)
    asked: int = 0
    body: bytes | None = None
    is_down: bool = False

    async def send(self, request: HttpRequest) -> HttpResponse:
        assert (request.method, request.url) == ("GET", URL)
        self.asked += 1
        await asyncio.sleep(0)
        if self.is_down:
            raise HttpFailure("httpUnreachable", "it cannot be reached")
        body = self.body if self.body is not None else json.dumps({"keys": self.keys}).encode()
        return HttpResponse(200, {}, body)


def tell(
    tmp_path: Path, files: Files, story: Callable[[Client], Any], *,
    env: dict[str, str] | None = None, publisher: Publisher | None = None,
) -> Any:  # fmt: skip
    async def whole() -> Any:
        made = serve(MemoryTree(files), tmp_path / "d.sqlite", ENV | (env or {}), http=publisher)
        async with made as client:
            await client.release.prepare()
            return await story(client)

    return run(whole())


async def status(client: Client, headers: dict[str, str], path: str = "/who") -> int:
    return (await client.ask("GET", path, headers=headers)).status


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [(rsa_key, "RS256"), (p256_key, "ES256"), (ed25519_key, "EdDSA")],
    ids=["rsa", "p256", "ed25519"],
)
def test_a_key_of_somebody_else_counts_beside_the_own(
    tmp_path: Path, key: Callable[[], Any], algorithm: str
) -> None:
    async def story(client: Client) -> list[int]:
        return [
            await status(client, signed(key(), algorithm)),
            await status(client, token()),
            await status(client, signed(key(), algorithm), "/shown"),
            await status(client, signed(other_rsa_key(), "RS256")),
        ]

    files, env = project(f"{{ algorithm: {algorithm}, key: '${{ env.THEIRS }}' }}"), public(key())
    assert tell(tmp_path, files, story, env={"THEIRS": env}) == [200, 200, 200, 401]
    in_one_line = env.replace("\n", "\\n")
    assert tell(tmp_path, files, story, env={"THEIRS": in_one_line}) == [200, 200, 200, 401]


def test_a_public_key_is_never_a_secret(tmp_path: Path) -> None:
    files = project("{ algorithm: RS256, key: '${ env.THEIRS }' }")
    pem = public(rsa_key())

    def part(value: dict[str, Any]) -> bytes:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")

    text = part({"alg": "HS256", "typ": "JWT"}) + b"." + part({"sub": "u1", "exp": NOW + 60})
    mac = hmac.new(pem.encode(), text, hashlib.sha256).digest()
    forged = (text + b"." + base64.urlsafe_b64encode(mac).rstrip(b"=")).decode()

    async def story(client: Client) -> int:
        return await status(client, {"authorization": f"Bearer {forged}"})

    assert tell(tmp_path, files, story, env={"THEIRS": pem}) == 401


def test_the_key_before_verifies_what_it_signed_until_it_is_gone(tmp_path: Path) -> None:
    async def story(client: Client) -> int:
        return await status(client, token(OLD))

    files = project("{ algorithm: HS256, key: '${ env.THEIRS }' }")
    assert tell(tmp_path, files, story, env={"THEIRS": OLD}) == 200
    assert tell(tmp_path, files, story) == 401


def test_a_key_with_an_id_is_tried_for_that_id_alone(tmp_path: Path) -> None:
    async def story(client: Client) -> list[int]:
        heads: list[dict[str, Any] | None] = [{"kid": "a"}, {"kid": "b"}, None]
        return [await status(client, signed(rsa_key(), "RS256", head)) for head in heads]

    files = project("{ id: a, algorithm: RS256, key: '${ env.THEIRS }' }")
    assert tell(tmp_path, files, story, env={"THEIRS": public(rsa_key())}) == [200, 401, 200]


@pytest.mark.parametrize(
    ("algorithm", "key", "says"),
    [
        ("HS256", "s3cr!", "5 bytes, at least 32; 'openssl rand -hex 32' makes one"),
        ("RS256", weak_rsa_key, "RSA needs at least 2048"),
        ("ES256", p384_key, "ES256"),
        ("RS256", p256_key, "does not fit RS256"),
        ("HS256", rsa_key, "does not fit HS256"),
    ],
)
def test_a_weak_key_stops_the_release(tmp_path: Path, algorithm: str, key: Any, says: str) -> None:
    text = public(key()) if callable(key) else key
    files = project(f"{{ algorithm: {algorithm}, key: '${{ env.THEIRS }}' }}")
    with pytest.raises(FlowError, match="'THEIRS' cannot verify tokens") as caught:
        tell(tmp_path, files, lambda client: status(client, {}), env={"THEIRS": text})
    assert says in caught.value.message
    assert text not in caught.value.message


# ---- sets of keys
SET = f"{{ algorithm: RS256, jwksUrl: '{URL}' }}"


def published(tmp_path: Path, publisher: Publisher, story: Callable[[Client], Any]) -> Any:
    return tell(tmp_path, project(SET), story, publisher=publisher)


def later(client: Client, seconds: float) -> None:
    clock: Any = client.release.answering.host.clock
    clock.moment += timedelta(seconds=seconds)


def test_a_set_is_fetched_once_and_then_kept(tmp_path: Path) -> None:
    publisher = Publisher([jwk(rsa_key(), "RS256", kid="a"), jwk(p256_key(), "ES256", kid="e")])

    async def story(client: Client) -> list[int]:
        heads = [{"kid": "a"}, {"kid": "a"}, None]
        return [await status(client, signed(rsa_key(), "RS256", head)) for head in heads]

    assert published(tmp_path, publisher, story) == [200, 200, 200]
    assert publisher.asked == 1


def test_a_key_that_is_new_there_is_found_at_once_but_not_for_ever_looked_for(
    tmp_path: Path,
) -> None:
    publisher = Publisher([jwk(rsa_key(), "RS256", kid="a")])

    async def story(client: Client) -> list[int]:
        publisher.keys.append(jwk(other_rsa_key(), "RS256", kid="b"))
        new = signed(other_rsa_key(), "RS256", {"kid": "b"})
        found = [await status(client, new)]
        later(client, 31)
        found.append(await status(client, new))
        many = [signed(rsa_key(), "RS256", {"kid": f"x{number}"}) for number in range(20)]
        return [*found, *[await status(client, one) for one in many]]

    assert published(tmp_path, publisher, story) == [401, 200] + [401] * 20
    assert publisher.asked == 2


def test_the_last_good_set_survives_a_publisher_that_is_down_or_odd(tmp_path: Path) -> None:
    publisher = Publisher([jwk(rsa_key(), "RS256", kid="a")])
    many = json.dumps({"keys": [{}] * (MAX_KEYS + 1)}).encode()
    odd = [b"", b"{", b"[]", b'{"keys": {}}', b'{"keys": []}', b'{"keys": [1, null, {}]}',
           b"[" * 50_000, b" " * (MAX_BYTES + 1), many, b"\xff"]  # fmt: skip

    async def story(client: Client) -> set[int]:
        found = set()
        for body in [None, *odd]:
            publisher.is_down, publisher.body = body is None, body
            later(client, 40)
            await status(client, signed(other_rsa_key(), "RS256", {"kid": "new"}))
            found.add(await status(client, signed(rsa_key(), "RS256", {"kid": "a"}, n=len(found))))
        return found

    assert published(tmp_path, publisher, story) == {200}
    assert publisher.asked == 1 + 1 + len(odd)


def test_a_key_that_was_taken_back_ends_what_it_signed(tmp_path: Path) -> None:
    publisher = Publisher([jwk(rsa_key(), "RS256", kid="a")])

    async def story(client: Client) -> list[int]:
        old = signed(rsa_key(), "RS256", {"kid": "a"}, exp=NOW + 10_000)
        found = [await status(client, old)]
        publisher.keys = [jwk(other_rsa_key(), "RS256", kid="b")]
        later(client, 700)
        new = signed(other_rsa_key(), "RS256", {"kid": "b"}, exp=NOW + 10_000)
        return [*found, await status(client, new), await status(client, old)]

    assert published(tmp_path, publisher, story) == [200, 200, 401]


@pytest.mark.parametrize(
    "key",
    [
        lambda: jwk(rsa_key(), "RS256", kid="a", use="enc"),
        lambda: jwk(rsa_key(), "RS256", kid="a", alg="RS512"),
        lambda: jwk(rsa_key(), "RS256", kid="a", key_ops=["sign"]),
        lambda: jwk(rsa_key(), "RS256", kid=["a"]),
        lambda: jwk(rsa_key(), "RS256", kid="a" * 201),
        lambda: jwk(p256_key(), "ES256", kid="a", alg=None),
        lambda: {"kty": "oct", "kid": "a", "k": "AAAA", "alg": "RS256"},
        lambda: jwk(weak_rsa_key(), "RS256", kid="a"),
        lambda: {"kty": "RSA", "kid": "a", "n": "AQAB", "e": "Aw"},
        lambda: {"kty": "RSA", "kid": "a", "n": 7},
    ],
    ids=range(10),
)
def test_a_key_that_is_for_something_else_is_left_out(
    tmp_path: Path, key: Callable[[], Any]
) -> None:
    async def story(client: Client) -> int:
        return await status(client, signed(rsa_key(), "RS256", {"kid": "a"}))

    assert published(tmp_path, Publisher([key()]), story) == 401


def test_a_publisher_that_is_down_from_the_start_costs_only_its_own_tokens(tmp_path: Path) -> None:
    async def story(client: Client) -> list[int]:
        return [await status(client, token()), await status(client, signed(rsa_key(), "RS256"))]

    assert published(tmp_path, Publisher(is_down=True), story) == [200, 401]


def test_only_the_key_that_is_named_counts_of_a_set(tmp_path: Path) -> None:
    publisher = Publisher(
        [jwk(rsa_key(), "RS256", kid="a"), jwk(other_rsa_key(), "RS256", kid="b")]
    )

    async def story(client: Client) -> list[int]:
        return [
            await status(client, signed(rsa_key(), "RS256", {"kid": "a"})),
            await status(client, signed(other_rsa_key(), "RS256", {"kid": "b"})),
        ]

    files = project(f"{{ id: b, algorithm: RS256, jwksUrl: '{URL}' }}")
    assert tell(tmp_path, files, story, publisher=publisher) == [401, 200]


# ---- checks
SHARED = "{{ id: a, algorithm: HS256, key: '${{ env.{} }}' }}"


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (f"{{ algorithm: HS256, jwksUrl: '{URL}' }}", "has no keys for HS256"),
        (SET, "issued for other audiences are accepted, too"),
        (f"{SHARED.format('THEIRS')}, {SHARED.format('JWT_SECRET')}", "two keys have the id 'a'"),
    ],
)  # fmt: skip
def test_keys_that_mean_too_much_are_told(keys: str, says: str) -> None:
    _, found = validate(MemoryTree(project(keys)))
    assert [one for one in found if one.code == "verifying-key" and says in one.message]


def test_an_audience_keeps_what_an_issuer_made_for_others_out(tmp_path: Path) -> None:
    _, found = validate(MemoryTree(project(SET, audience="shop")))
    assert [one for one in found if one.code == "verifying-key"] == []
    publisher = Publisher([jwk(rsa_key(), "RS256", kid="a")])

    async def story(client: Client) -> list[int]:
        return [
            await status(client, signed(rsa_key(), "RS256", {"kid": "a"}, aud=aud))
            for aud in ("shop", ["x", "shop"], "other")
        ]

    files = project(SET, audience="shop")
    assert tell(tmp_path, files, story, publisher=publisher) == [200, 200, 401]
