"""A site that publishes documents, by https on loopback with a certificate of its own."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Site(ThreadingHTTPServer):
    """Answers each path with what `pages` says: a status, headers, a body."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.url = f"https://localhost:{self.server_address[1]}"
        self.pages: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[str] = []

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of who hung up."""

    def publish(self, path: str = "/client.json", **changes: Any) -> str:
        """Publish a client's document; return its id."""
        address = self.url + path
        said = {
            "client_id": address, "client_name": "Published Robot",
            "redirect_uris": ["https://agent.example.com/callback"],
        } | changes  # fmt: skip
        self.pages[path] = (200, {"content-type": "application/json"}, json.dumps(said).encode())
        return address


class _Answering(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        status, headers, body = self.server.pages.get(self.path, (404, {}, b""))
        self.send_response(status)
        for name, value in ({"content-length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def open_site(certificate: Path) -> Iterator[Site]:
    """Yield a site that runs."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    site = Site()
    site.socket = context.wrap_socket(site.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=site.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.shutdown()
        thread.join()
        site.server_close()


def write_certificate(path: Path) -> None:
    """Write a certificate of `localhost` with its key, which whoever trusts the file trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    written = key.private_bytes(*form, serialization.NoEncryption())
    path.write_bytes(written + certificate.public_bytes(serialization.Encoding.PEM))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site whose certificate this process trusts."""
    certificate = tmp_path / "localhost.pem"
    write_certificate(certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with open_site(certificate) as found:
        yield found
