"""SMTP server on loopback with TLS and one user, for tests of mails."""

from __future__ import annotations

import email
import email.policy
import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as pem
from cryptography.x509.oid import NameOID

from tests.support.ports import free_port
from tests.support.signing_keys import p256_key

PASSWORD = "canary-of-a-password"


def certificate(name: str) -> str:
    """Return a self-signed certificate of a name."""
    now, named = datetime.now(UTC), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    other = x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
    made = (
        x509.CertificateBuilder().subject_name(named).issuer_name(named)
        .public_key(p256_key().public_key()).serial_number(1)
        .not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([other]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(p256_key(), hashes.SHA256())
    )  # fmt: skip
    return made.public_bytes(pem.Encoding.PEM).decode()


class Handler:
    """Stores mails, rejects the recipients in `no`, and answers DATA from a script."""

    def __init__(self) -> None:
        self.got: list[Any] = []
        self.answers = ["250 ok"]
        self.tries = 0

    async def handle_RCPT(  # noqa: N802 - a name of aiosmtpd's
        self, server: Any, session: Any, envelope: Any, address: str, options: Any
    ) -> str:
        if address.startswith("no"):
            return "550 5.1.1 no such user"
        envelope.rcpt_tos.append(address)
        return "250 ok"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        self.tries += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer.startswith("250"):
            self.got.append(envelope)
        return answer


class Server:
    """An SMTP server on loopback."""

    def __init__(self, box: Path, *, name: str = "127.0.0.1", tls: str = "starttls") -> None:
        self.handler, self.pem = Handler(), certificate(name)
        key = p256_key().private_bytes(
            pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption()
        )
        (box / "cert.pem").write_text(self.pem)
        (box / "key.pem").write_bytes(key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(box / "cert.pem", box / "key.pem")
        options: dict[str, Any] = {}
        if tls == "starttls":
            options = {"tls_context": context, "require_starttls": True}
        elif tls == "tls":
            options = {"ssl_context": context}

        def authenticate(
            server: Any, session: Any, envelope: Any, mechanism: str, data: Any
        ) -> AuthResult:
            is_right = (data.login, data.password) == (b"shop", PASSWORD.encode())
            return AuthResult(success=is_right, handled=False)

        login: dict[str, Any] = {"authenticator": authenticate, "auth_required": True}
        if tls == "tls":  # it does not know that such a connection is one
            login = {"authenticator": authenticate, "auth_require_tls": False}
        self.server = Controller(
            self.handler, hostname="127.0.0.1", port=free_port(), **login, **options
        )
        self.server.start()
        scheme = "smtps" if tls == "tls" else "smtp"
        self.url = f"{scheme}://127.0.0.1:{self.server.port}"

    def mails(self) -> list[Any]:
        """Return the parsed mails."""
        policy = email.policy.default
        return [email.message_from_bytes(one.content, policy=policy) for one in self.handler.got]
