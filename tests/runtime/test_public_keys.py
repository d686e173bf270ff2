"""Keys of RSA and of curves sign a project's own tokens; others verify them by `/~jwks.json`."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from bbops.compiler.compile.release import build, declared_env
from bbops.compiler.testing.client import Reply, serve
from bbops.compiler.testing.running import Runner
from bbops.runtime.auth.keys import MAKING, make_key, name_key, read_key
from bbops.runtime.linking.lasting import Lasting
from bbops.runtime.values.failures import FlowError
from bbops.source.tree import MemoryTree
from bbops_server.process.host.secrets import Secrets
from bbops_server.process.messages.projects import ProjectPlace
from bbops_server.publish.build.smoke import try_release
from tests.conftest import Files, run
from tests.support.doors import Door
from tests.support.doors import run as run_door
from tests.support.public_keys import public
from tests.support.raw_requests import NOW, routes
from tests.support.signing_keys import ed25519_key, p256_key, p384_key, rsa_key, weak_rsa_key

SIGN = """
steps:
  - generateAuthToken: { userId: u1 }
    as: token
  - return: { value: '${ vars.token }' }
"""
WHO = "steps:\n  - return: { value: '${ vars.auth.userId }' }\n"
ANY = "steps:\n  - return: { value: anything }\n"
ALGORITHMS = ("RS256", "ES256", "EdDSA")
key_of = cache(make_key)
JWKS = "/~jwks.json"


def project(algorithm: str, keys: str = "") -> Files:
    files = routes("POST /sign sign None", "GET /who who JWT", "GET /:any any None", sign=SIGN,
                   who=WHO, any=ANY)  # fmt: skip
    files["project.yaml"] = (
        "bbops: 1\nname: sample\nenv:\n  KEY: { secret: true, generate: true }\n"
        "  OLD: { required: false, secret: true }\n"
        f"auth:\n  signingKey: ${{ env.KEY }}\n  algorithm: {algorithm}\n  keys: [{keys}]\n"
    )
    return files


def tell(tmp_path: Path, files: Files, env: dict[str, str], *asked: Any) -> list[Reply]:
    """Ask one thing after the other; a function makes one of the replies before."""

    async def whole() -> list[Reply]:
        found: list[Reply] = []
        async with serve(MemoryTree(files), tmp_path / "d.sqlite", env) as client:
            for one in asked:
                method, path, headers = one(found) if callable(one) else one
                found.append(await client.ask(method, path, headers=headers))
        return found

    return run(whole())


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_others_verify_a_token_by_what_is_published(tmp_path: Path, algorithm: str) -> None:
    token, who, published = tell(
        tmp_path, project(algorithm), {"KEY": key_of(algorithm)}, ("POST", "/sign", {}),
        lambda found: ("GET", "/who", bearer(found[0].json)), ("GET", JWKS, {}),
    )  # fmt: skip
    assert who.json == "u1"
    assert published.headers["cache-control"] == "public, max-age=300"
    keys = jwt.PyJWKSet.from_dict(json.loads(published.body))
    head = jwt.get_unverified_header(token.json)
    key = keys[head["kid"]]
    options: Any = {"verify_exp": False, "verify_iat": False}
    assert jwt.decode(token.json, key, [algorithm], options)["sub"] == "u1"


@pytest.mark.long
def test_nothing_private_is_published(tmp_path: Path) -> None:
    for algorithm in ALGORITHMS:
        key = key_of(algorithm)
        (found,) = tell(tmp_path, project(algorithm), {"KEY": key}, ("GET", JWKS, {}))
        (one,) = found.json["keys"]
        assert not one.keys() & {"d", "p", "q", "dp", "dq", "qi", "k"}
        assert one["kid"] == name_key(read_key(public_of(key), algorithm)[1], algorithm)


def public_of(pem: str) -> str:
    return public(serialization.load_pem_private_key(pem.encode(), None))


def test_an_old_key_is_published_and_counts_by_either_half(tmp_path: Path) -> None:
    env, old = {"KEY": key_of("ES256")}, make_key("ES256")
    (token,) = tell(tmp_path, project("ES256"), {"KEY": old}, ("POST", "/sign", {}))
    for half in (old, public_of(old)):
        files = project("ES256", "{ algorithm: ES256, key: '${ env.OLD }' }")
        who, published = tell(
            tmp_path, files, env | {"OLD": half}, ("GET", "/who", bearer(token.json)),
            ("GET", JWKS, {}),
        )  # fmt: skip
        assert who.status == 200
        kids = [one["kid"] for one in published.json["keys"]]
        assert len(kids) == 2
        assert kids[1] == jwt.get_unverified_header(token.json)["kid"]


def test_a_shared_secret_is_never_published(tmp_path: Path) -> None:
    secret = "a-shared-secret-of-more-than-32-characters"
    (found,) = tell(tmp_path, project("HS256"), {"KEY": secret}, ("GET", JWKS, {}))
    assert found.json == "anything"
    files = project("EdDSA", "{ algorithm: HS256, key: '${ env.OLD }' }")
    (found,) = tell(tmp_path, files, {"KEY": key_of("EdDSA"), "OLD": secret}, ("GET", JWKS, {}))
    assert [one["alg"] for one in found.json["keys"]] == ["EdDSA"]


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_public_key_is_no_secret_to_sign_with(tmp_path: Path, algorithm: str) -> None:
    pem = key_of(algorithm)

    def part(value: Any) -> bytes:
        return base64.urlsafe_b64encode(value).rstrip(b"=")

    def forge(found: list[Reply]) -> Any:
        one = found[0].json["keys"][0]
        secrets = (public_of(pem), public_of(pem).strip(), json.dumps(one), one["kid"])
        head = part(json.dumps({"alg": "HS256", "kid": one["kid"]}).encode())
        text = head + b"." + part(json.dumps({"sub": "u1", "exp": NOW + 60}).encode())
        macs = [hmac.digest(secret.encode(), text, hashlib.sha256) for secret in secrets]
        return [bearer((text + b"." + part(mac)).decode()) for mac in macs]

    asked = [lambda found, at=at: ("GET", "/who", forge(found)[at]) for at in range(4)]
    _, *replies = tell(tmp_path, project(algorithm), {"KEY": pem}, ("GET", JWKS, {}), *asked)
    assert [reply.status for reply in replies] == [401] * 4


def public_key() -> str:
    return public(ed25519_key())


def pem_of(key: Any) -> str:
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    text: bytes = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    return text.decode()


@pytest.mark.parametrize(
    ("algorithm", "key", "why"),
    [
        ("RS256", weak_rsa_key, "has 1024 bits"),
        ("ES256", p384_key, "does not fit ES256"),
        ("ES256", rsa_key, "does not fit ES256"),
        ("EdDSA", p256_key, "does not fit EdDSA"),
        ("RS256", "a-shared-secret-of-more-than-32-characters", "does not fit RS256"),
        ("EdDSA", public_key, "only verify tokens"),
    ],
)  # fmt: skip
def test_a_weak_or_wrong_key_stops_the_release(
    tmp_path: Path, algorithm: str, key: Any, why: str
) -> None:
    given = key() if callable(key) else key
    text = given if isinstance(given, str) else pem_of(given)
    with pytest.raises(FlowError, match=why) as caught:
        tell(tmp_path, project(algorithm), {"KEY": text})
    assert f"'{MAKING[algorithm]}' makes one" in caught.value.message
    assert text[:40] not in caught.value.message or "BEGIN" in text[:40]


def test_a_pem_is_no_shared_secret_of_the_project(tmp_path: Path) -> None:
    for pem in (key_of("RS256"), public_of(key_of("RS256"))):
        with pytest.raises(FlowError, match="does not fit HS256"):
            tell(tmp_path, project("HS256"), {"KEY": pem})


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_server_makes_a_key_of_the_right_kind(
    tmp_path: Path, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    found = build(MemoryTree(project(algorithm))).project
    assert found is not None
    declared = declared_env(found)
    store = Secrets.open(tmp_path / "state")
    first, missing = store.resolve(declared)
    assert missing == []
    assert store.resolve(declared)[0] == first
    assert read_key(str(first["KEY"]), algorithm)[0] is not None


def test_the_keys_stand_below_the_prefix_of_the_project(tmp_path: Path) -> None:
    async def ask(door: Door) -> None:
        built = build(MemoryTree(project("EdDSA")))
        artifact = tmp_path / built.digest
        artifact.write_bytes(built.artifact)
        env, database = {"KEY": key_of("EdDSA"), "OLD": None}, tmp_path / "data.sqlite"
        await door.live.link(artifact, name="r1", env=env, database=database)
        door.live.swap("r1")
        status, headers, found = await door.ask(JWKS)
        assert (status, headers["x-release"], len(found["keys"])) == (200, "r1", 1)
        assert (await door.ask(JWKS, method="HEAD"))[::2] == (200, None)
        door.directory.arrange({"": ProjectPlace((), "/shop")})
        assert (await door.ask(f"/shop{JWKS}"))[2] == found
        assert (await door.ask(JWKS))[0] == 404

    run_door(tmp_path, ask)


@pytest.mark.parametrize("algorithm", ["HS256", *ALGORITHMS])
def test_a_release_is_tried_without_its_keys(tmp_path: Path, algorithm: str) -> None:
    built = build(MemoryTree(project(algorithm, "{ algorithm: RS256, key: '${ env.OLD }' }")))
    artifact = tmp_path / built.digest
    artifact.write_bytes(built.artifact)
    assert run(try_release(artifact, tmp_path / "d.sqlite", Lasting()))["routes"] == 3


def test_tests_of_a_project_sign_with_a_key_of_their_own() -> None:
    files = project("ES256", "{ algorithm: EdDSA, key: '${ env.OLD }' }")
    runner = Runner(build(MemoryTree(files)))
    assert read_key(str(runner.env["KEY"]), "ES256")[0] is not None
    assert read_key(str(runner.env["OLD"]), "EdDSA")[0] is not None


@pytest.mark.long
def test_a_key_made_by_the_command_that_a_message_names_fits() -> None:
    for algorithm, command in MAKING.items():
        made = subprocess.run(command.split(), capture_output=True, check=True, text=True)
        assert read_key(made.stdout, algorithm)[0] is not None
