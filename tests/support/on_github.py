"""A server whose project is on the stand-in for a forge, with its webhook."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from tests.support.forge_world.api_server import ApiServer
from tests.support.gitea.server import GiteaServer
from tests.support.github.connected import APP_ID, KEY_ENV, install_app
from tests.support.github.facts import Hook, Pull, Repo
from tests.support.github.server import GitHubServer
from tests.support.github.world import push
from tests.support.gitlab.server import GitLabServer
from tests.support.gitlab.world import GitLabWorld
from tests.support.patience import wait_for
from tests.support.several import Several
from tests.support.small_project import FILES

TOKEN = "tokenEnv: SHOP_FORGE_TOKEN"
APP = f"app: {{ id: {APP_ID}, keyEnv: {KEY_ENV} }}"
SECRET = "secret of the webhook"
FILE = """
egress: {{ allow: [127.0.0.1] }}
projects:
  shop:
    repository: "{url}"
    forge:
      kind: github
      url: "{forge}"
      repository: acme/shop
      {credential}
      webhookSecretEnv: SHOP_WEBHOOK_SECRET
"""
BROKEN = {"functions/hello.yaml": "steps:\n  - return: { value: '${ vars.nothing }' }\n"}
REVIEWED = {
    "project.yaml": FILES["project.yaml"]
    + "review: { main: proposals, approvals: 1, source: forge }\n"
}
"""The file that demands a review on the forge."""

EVENTS = ("push", "pull_request", "pull_request_review", "repository")


class OnGitHub(Several):
    """A server of one project on GitHub; `forge` is the other side.

    Attributes:
        role: the role of the server's user.
        has_deployments: whether the forge has deployments.
        hook_events: the events of the webhook.
        edits: the method of changes.
        forged: headers of a webhook with a wrong signature.
    """

    role, has_deployments, hook_events, edits = "write", True, EVENTS, "PATCH"
    forged = {"x-github-event": "push", "x-hub-signature-256": f"sha256={'0' * 64}"}

    def __init__(
        self, folder: Path, *, files: dict[str, str] | None = None, poll_seconds: str = "3600",
        credential: str = TOKEN,
    ) -> None:  # fmt: skip
        """Args: `credential`: the key of `forge` with the credential, TOKEN or APP."""
        self.forge = self.open_forge(folder)
        self.world = self.forge.world
        self.token = self.world.add_token("bbops-bot")
        self.world.repo.roles.update({"ada": "admin", "bob": "write", "bbops-bot": self.role})
        push(self.world.repo, "main", {**FILES, **(files or {})})
        self.app = install_app(self.world)
        self.grant = self.world.grants[self.token]
        (folder / "server").mkdir()
        self.folder, self.poll_seconds = folder / "server", poll_seconds
        self.start(self.settings(credential))
        self.until("live", "shop")

    def open_forge(self, folder: Path) -> ApiServer:
        """Start the forge."""
        return GitHubServer(folder / "github")

    def settings(self, credential: str) -> str:
        """Return the text of server.yaml."""
        url = self.forge.clone_url()
        return FILE.format(url=url, forge=self.forge.url, credential=credential)

    def start(self, text: str = "") -> None:
        """Start the server; its webhook is at its new address."""
        env = {"SHOP_FORGE_TOKEN": self.token, "SHOP_WEBHOOK_SECRET": SECRET, **self.app}
        super().__init__(self.folder, text, "--poll", self.poll_seconds, env=env)
        url = f"{self.serving['control_url']}/hooks/shop"
        self.world.webhooks.hooks[:] = [Hook(self.world.new_id(), url, SECRET, self.hook_events)]

    def crash(self) -> None:
        """Kill the server as the kernel would, and start it again."""
        super().stop(signal.SIGKILL)
        self.start()

    def stop(self, *arguments: Any) -> int:
        """Stop the server, then the forge."""
        code = super().stop(*arguments)
        self.forge.__exit__()
        return code

    # ---- what users do
    def push(
        self, branch: str, files: dict[str, str], home: Repo | None = None, *,
        is_forced: bool = False,
    ) -> str:  # fmt: skip
        """Push files to a branch; return the commit."""
        commit = push(home or self.world.repo, branch, files, is_forced=is_forced)
        self.world.sync()
        return commit

    def propose(
        self, branch: str, files: dict[str, str], *, home: Repo | None = None, who: str = "ada"
    ) -> Pull:
        """Push a branch and open its pull request."""
        self.push(branch, files, home)
        return self.world.open_pull(who, branch, f"Change {branch}", home=home)

    def nudge(self) -> None:
        """Send the webhook of a pull request, though nothing has changed."""
        self.world.webhooks.emit("pull_request", {"action": "edited"}, self.world.repo.name)

    # ---- what the forge shows
    def statuses(self, commit: str) -> dict[str, str]:
        """Return the newest state of each status of a commit."""
        return {
            status.context: status.state for status in self.world.statuses
            if status.commit == commit
        }  # fmt: skip

    def until_checked(self, pull: Pull, check: str, plan: str) -> None:
        """Wait until the statuses of a pull request's head are these."""
        expected = {"bbops/check": check, "bbops/plan": plan}
        wait_for(lambda: self.statuses(pull.head) == expected)

    def comments(self, pull: Pull) -> list[str]:
        """Return the comments of a pull request."""
        return [found.body for found in self.world.comments if found.number == pull.number]

    def deployed(self, environment: str) -> dict[str, str]:
        """Return the newest state of each deployed commit of an environment."""
        return {
            found.commit: str(found.states[-1]["state"]) if found.states else ""
            for found in self.world.deployments if found.environment == environment
        }  # fmt: skip

    def until_previewed(self, pull: Pull) -> None:
        """Wait until the preview of a head is shown."""
        wait_for(lambda: self.deployed(f"preview/{pull.number}") == {pull.head: "success"})
        assert "Preview" in "".join(self.comments(pull))

    def until_ended(self, pull: Pull) -> None:
        """Wait until the preview of a merged head has ended."""
        wait_for(lambda: self.deployed(f"preview/{pull.number}") == {pull.head: "inactive"})

    def until_in_production(self, commit: str) -> None:
        """Wait until a commit is deployed to production."""
        wait_for(lambda: self.deployed("production").get(commit) == "success")

    def version(self) -> int:
        """Return the version that the live API answers."""
        return int(self.api.get("/hello").json()["version"])

    def until_live(self, version: int) -> None:
        """Wait until the live API answers a version."""
        wait_for(lambda: self.version() == version)

    def until_held(self, text: str) -> None:
        """Wait until the newest commit is held for a reason with this text."""
        wait_for(lambda: text in str(self.told("shop")["conditions"]))
        assert self.version() == 1

    def shows_statuses(self, pull: Pull) -> bool:
        """Return whether the forge shows statuses of a pull request's head."""
        return bool(pull)

    def is_updated(self) -> bool:
        """Return whether the last request may be the last one of an update."""
        return self.forge.paths()[-1].endswith("/statuses")


class OnGitea(OnGitHub):
    """A server of one project on Gitea, which has no deployments."""

    role, has_deployments = "admin", False
    forged = {"x-gitea-event": "push", "x-gitea-signature": "0" * 64}

    def open_forge(self, folder: Path) -> ApiServer:
        """Start the forge."""
        return GiteaServer(folder / "gitea")

    def settings(self, credential: str) -> str:
        """Return the text of server.yaml."""
        return super().settings(credential).replace("kind: github", "kind: gitea")

    def until_previewed(self, pull: Pull) -> None:
        """Wait until the comment shows the preview of a head."""
        wait_for(lambda: all(
            word in "".join(self.comments(pull)) for word in ("Preview", pull.head[:12])
        ))  # fmt: skip

    def until_ended(self, pull: Pull) -> None:
        """Do nothing: the preview of a merged head is in no list of the forge."""

    def until_in_production(self, commit: str) -> None:
        """Wait until a commit is live."""
        wait_for(lambda: self.told("shop")["applied_revision"].endswith(commit))


class OnGitLab(OnGitHub):
    """A server of one project on GitLab, in a group of a group."""

    hook_events, edits = EVENTS[:-1], "PUT"  # no event of a new name
    forged = {"x-gitlab-event": "Push Hook", "x-gitlab-token": "guess"}
    world: GitLabWorld

    def open_forge(self, folder: Path) -> ApiServer:
        """Start the forge."""
        return GitLabServer(folder / "gitlab")

    def settings(self, credential: str) -> str:
        """Return the text of server.yaml."""
        text = super().settings(credential).replace("kind: github", "kind: gitlab")
        return text.replace("repository: acme/shop", "repository: acme/backend/shop")

    def deployed(self, environment: str) -> dict[str, str]:
        """Return the state of each commit of an environment; a success if it has an address."""
        shown = {each.name: each for each in self.world.environments if each.url}
        if environment not in shown:
            return {}
        state = "inactive" if shown[environment].is_stopped else "success"
        return dict.fromkeys(super().deployed(environment), state)

    def shows_statuses(self, pull: Pull) -> bool:
        """Return whether the head is on a branch of the project."""
        return pull.home is None

    def is_updated(self) -> bool:
        """Return whether the last request is about an environment."""
        paths, named = self.forge.paths(), [each for each in self.world.environments if each.url]
        sent = [path for path in paths if path.startswith("PUT") and "/environments/" in path]
        is_last = any(word in paths[-1] for word in ("/environments/", "/deployments"))
        return is_last and len(sent) >= len(named)
