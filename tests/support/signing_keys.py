"""Keys to sign with, each made once and only where a test asks: those of RSA take long."""

from __future__ import annotations

from functools import cache

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa


@cache
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


@cache
def other_rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


@cache
def weak_rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 1024)


@cache
def p256_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@cache
def p384_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP384R1())


@cache
def ed25519_key() -> ed25519.Ed25519PrivateKey:
    return ed25519.Ed25519PrivateKey.generate()
