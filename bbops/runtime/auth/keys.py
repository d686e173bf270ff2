"""Keys of tokens: each is fixed to one algorithm, and refused when it is too weak for it."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from typing import Any, Final

from bbops.runtime.values.values import quoted

ALGORITHMS: Final = frozenset(
    (
        "HS256", "HS384", "HS512", "RS256", "RS384", "RS512",
        "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
    )
)  # fmt: skip
LEAST_RSA_BITS: Final = 2048
"""NIST SP 800-131A; RFC 7518 section 3.3."""

MAKING: Final = {
    "RS256": "openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072",
    "ES256": "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256",
    "EdDSA": "openssl genpkey -algorithm ed25519",
}
"""Algorithms with a public key that a project can sign by, and what makes a private one."""
_CURVES: Final = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}


@dataclass(frozen=True, slots=True, repr=False)
class VerifyingKey:
    """What verifies tokens of one algorithm; without an `id`, whatever key a token names."""

    key: Any
    algorithm: str
    id: str | None = None

    def fits(self, algorithm: str, kid: str | None) -> bool:
        """Return whether a token that names an algorithm and a key may be one of its own."""
        return self.algorithm == algorithm and (
            self.id is None or kid is None or self.id == kid
        )  # fmt: skip


def read_key(text: str, algorithm: str) -> tuple[Any, Any]:
    r"""Return the key that signs, None for a public key, and the key that verifies.

    A PEM may stand on one line, with `\n` for its breaks, as variables often hold it.

    Raises:
        ValueError: the algorithm is unknown, or the key does not fit it or is too weak.
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"'{algorithm}' is not one of {quoted(sorted(ALGORITHMS))}")
    if text.startswith("-----BEGIN ") and "\n" not in text:
        text = text.replace("\\n", "\n")
    import jwt  # noqa: PLC0415 - takes 30 ms, and checking a project needs none of it

    try:
        prepared: Any = jwt.get_algorithm_by_name(algorithm).prepare_key(text)
    except (jwt.PyJWTError, ValueError, TypeError):
        raise ValueError(f"the key does not fit {algorithm}") from None
    if type(prepared) is bytes:
        check_secret(prepared, algorithm)
        return prepared, prepared
    check_strength(prepared, algorithm)
    if hasattr(prepared, "public_key"):
        return prepared, prepared.public_key()
    return None, prepared


def check_secret(secret: bytes, algorithm: str) -> None:
    """Refuse a secret that is shorter than its hash: RFC 7518 section 3.2.

    Raises:
        ValueError: it is too short.
    """
    least = int(algorithm.removeprefix("HS")) // 8
    if len(secret) < least:
        raise ValueError(
            f"the key is too short for {algorithm}: {len(secret)} bytes, at least {least};"
            f" 'openssl rand -hex {least}' makes one"
        )


def check_strength(key: Any, algorithm: str) -> None:
    """Refuse a key of RSA that is too short, and one of another curve than its algorithm's.

    Raises:
        ValueError: it is one of these.
    """
    if algorithm[:2] in {"RS", "PS"} and key.key_size < LEAST_RSA_BITS:
        raise ValueError(f"the key has {key.key_size} bits, RSA needs at least {LEAST_RSA_BITS}")
    if algorithm in _CURVES and key.curve.name != _CURVES[algorithm]:
        raise ValueError(f"{algorithm} needs the curve {_CURVES[algorithm]}, not {key.curve.name}")


def make_key(algorithm: str) -> str:
    """Return a new private key as PEM; `algorithm` is one of MAKING. 0.2 s for RSA, else 1 ms."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa  # noqa: PLC0415

    key = (
        rsa.generate_private_key(65537, 3072) if algorithm == "RS256"
        else ec.generate_private_key(ec.SECP256R1()) if algorithm == "ES256"
        else ed25519.Ed25519PrivateKey.generate()
    )  # fmt: skip
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    return key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain).decode()


def name_key(key: Any, algorithm: str) -> str:
    """Return the `kid` of a verifying key: it tells keys apart, and nothing of a secret.

    Source: RFC 7638 for a public key, so it is the same wherever that key stands.
    """
    if type(key) is bytes:
        digest = hashlib.sha256(b"bbops kid\0" + key).digest()
        return urlsafe_b64encode(digest[:9]).decode()
    text = json.dumps(to_jwk(key, algorithm), sort_keys=True, separators=(",", ":"))
    return urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


def to_jwk(key: Any, algorithm: str) -> dict[str, str]:
    """Return what RFC 7517 requires of a public key: never a part of a private one."""
    import jwt  # noqa: PLC0415 - as above

    found: dict[str, str] = json.loads(jwt.get_algorithm_by_name(algorithm).to_jwk(key))
    return {name: value for name, value in found.items() if name in _PUBLIC}


_PUBLIC: Final = frozenset(("kty", "crv", "x", "y", "n", "e"))
