"""Git over HTTP of the stand-in for GitHub, by `git http-backend`."""

from __future__ import annotations

import base64
import os
import subprocess
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.support.github.world import GitHubWorld


def serve_git(handler: BaseHTTPRequestHandler, world: GitHubWorld) -> None:
    """Answer a request of a git client: reads for everybody, pushes with a token."""
    parts = urlsplit(handler.path)
    name, _, rest = parts.path.lstrip("/").partition(".git/")
    repo = world.find_repo(name)
    if repo is None:
        handler.send_error(404)
        return
    is_push = "git-receive-pack" in handler.path
    if (is_push or repo.is_private) and not _may_write(handler, world):
        handler.send_response(401)
        handler.send_header("www-authenticate", 'Basic realm="GitHub"')
        handler.send_header("content-length", "0")
        handler.end_headers()
        return
    env = {
        **os.environ, "GIT_PROJECT_ROOT": str(repo.path), "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{rest}", "QUERY_STRING": parts.query, "REMOTE_USER": "github",
        "REQUEST_METHOD": handler.command, "CONTENT_TYPE": handler.headers.get("content-type", ""),
        "HTTP_CONTENT_ENCODING": handler.headers.get("content-encoding", ""),
        "GIT_PROTOCOL": handler.headers.get("git-protocol", ""),
    }  # fmt: skip
    done = subprocess.run(
        ["git", "http-backend"], env=env, input=_read(handler), capture_output=True, check=True
    )
    if is_push and handler.command == "POST":
        world.sync()
    world.fetches += not is_push and handler.command == "POST"
    _relay(handler, done.stdout)


def _may_write(handler: BaseHTTPRequestHandler, world: GitHubWorld) -> bool:
    _, _, value = handler.headers.get("authorization", "").partition(" ")
    token = base64.b64decode(value).decode().partition(":")[2]
    grant = world.grants.get(token)
    return grant is not None and grant.has(world.git_right)


def _read(handler: BaseHTTPRequestHandler) -> bytes:
    if handler.headers.get("transfer-encoding", "") != "chunked":
        return handler.rfile.read(int(handler.headers.get("content-length", 0)))
    parts = []
    while size := int(handler.rfile.readline().strip(), 16):
        parts.append(handler.rfile.read(size))
        handler.rfile.readline()
    handler.rfile.readline()
    return b"".join(parts)


def _relay(handler: BaseHTTPRequestHandler, output: bytes) -> None:
    """Send the response of a CGI program."""
    head, _, body = output.partition(b"\r\n\r\n")
    pairs = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
    handler.send_response(int(pairs.pop("Status", "200").split()[0]))
    for name, value in {**pairs, "Content-Length": str(len(body)), "Connection": "close"}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)
