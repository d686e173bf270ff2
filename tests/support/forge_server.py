"""A server whose repository is on a forge that sends webhooks."""

from __future__ import annotations

import hmac
from hashlib import sha256
from pathlib import Path

import httpx

from tests.support.pushing import make_repository
from tests.support.served import git
from tests.support.several import Several
from tests.support.small_project import hello, write_project

SECRET = "secret of the webhook"
FILE = """
projects:
  shop:
    repository: "{url}"
    forge: {{ kind: github, webhookSecretEnv: SHOP_WEBHOOK_SECRET }}
  blog:
    repository: "{url}"
    pathPrefix: /blog
    forge: {{ kind: gitlab, webhookSecretEnv: BLOG_WEBHOOK_SECRET }}
  news: {{ repository: "{url}", pathPrefix: /news }}
"""
PUSH = {"x-github-event": "push", "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958"}


class ForgeServer(Several):
    """A server whose repository is elsewhere, and which it polls once an hour."""

    def __init__(self, folder: Path) -> None:
        self.bare, self.work = folder / "forge.git", folder / "work"
        make_repository(self.bare, bare=True)
        git(folder, "clone", "-q", str(self.bare), str(self.work))
        (folder / "server").mkdir()
        text = FILE.format(url=self.bare.as_uri())
        env = {"SHOP_WEBHOOK_SECRET": SECRET}
        super().__init__(folder / "server", text, "--poll", "3600", env=env)
        self.until("live", "shop")

    def push(self, version: int, branch: str = "main") -> None:
        """Push a commit to the forge, which the server does not notice."""
        write_project(self.work, hello(version))
        git(self.work, "commit", "-qam", f"Version {version}")
        git(self.work, "push", "-q", "origin", f"HEAD:refs/heads/{branch}")

    def hook(
        self, body: bytes, headers: dict[str, str] = PUSH, *, secret: str = SECRET, at: str = "shop"
    ) -> httpx.Response:
        """Send the webhook of GitHub."""
        signature = hmac.new(secret.encode(), body, sha256).hexdigest()
        url = f"{self.serving['control_url']}/hooks/{at}"
        sent = {**headers, "x-hub-signature-256": f"sha256={signature}"}
        return httpx.post(url, content=body, headers=sent, timeout=60)

    def version(self) -> int:
        """Return the live version."""
        return int(self.api.get("/hello").json()["version"])
