"""The key `forge` of a project in `server.yaml`: the hosted forge of its repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Final, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from bbops.base.model import Model
from bbops_server.settings.repositories import ForgeApp, ForgeBinding, ForgeKind
from bbops_server.settings.server_file.webhook import check_issuer, wrong_value

PUBLIC: Final[dict[ForgeKind, str]] = {
    "github": "https://github.com", "gitlab": "https://gitlab.com",
}  # fmt: skip
"""The public forge of each kind that has one."""

_PATH: Final = re.compile(r"[\w.-]+(?:/[\w.-]+)+").fullmatch
_SSH: Final = re.compile(r"(?:[\w.+-]+@)?([\w.-]+):(?!//)(.+)").fullmatch
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]*$")]


def _check_path(text: str) -> str:
    if not _PATH(text) or ".." in text:
        raise wrong_value(f"expected the path of a repository, got '{text}'", "such as acme/shop")
    return text


class WrittenApp(Model):
    """A GitHub App: its number, and the variable with its private key."""

    id: Annotated[int, Field(ge=1, le=2**53)]
    key_env: Variable


class WrittenForge(Model):
    """A forge. Secrets are variables of the environment, or stored values of the server.

    Without `token_env` and `app`, the server only accepts the webhook.
    """

    kind: ForgeKind
    url: Annotated[str, AfterValidator(check_issuer)] | None = None
    repository: Annotated[str, AfterValidator(_check_path)] | None = None
    webhook_secret_env: Variable | None = None
    token_env: Variable | None = None
    app: WrittenApp | None = None

    @model_validator(mode="after")
    def _check_credentials(self) -> Self:
        """Accept one credential, and Apps of GitHub only."""
        if self.app is not None and self.kind != "github":
            raise wrong_value(f"'{self.kind}' has no Apps", "give an access token by 'tokenEnv'")
        if self.app is not None and self.token_env is not None:
            raise wrong_value("both 'app' and 'tokenEnv' are given", "keep one of them")
        if self.app is None and self.token_env is None and self.webhook_secret_env is None:
            raise wrong_value(
                "the server could not use this forge: it has no credential",
                "give 'app', 'tokenEnv' or 'webhookSecretEnv'",
            )
        return self


def check_address(forge: WrittenForge, repository: str) -> None:
    """Require that the server can find the repository on its forge.

    Args:
        forge: the forge.
        repository: the address of the project's repository.

    Raises:
        PydanticCustomError: neither `forge` nor the address names it.
    """
    url, path = _locate(forge, repository)
    if (forge.token_env or forge.app) and not (url and path):
        missing = "url" if not url else "repository"
        raise wrong_value(
            f"the forge of '{repository}' is not known", f"name it by '{missing}' of 'forge'"
        )


def read_binding(
    project: str, forge: WrittenForge | None, repository: str
) -> Iterator[ForgeBinding]:
    """Yield the forge of a project, if it has one."""
    if forge is not None:
        app = ForgeApp(forge.app.id, forge.app.key_env) if forge.app else None
        yield ForgeBinding(
            project, forge.kind, *_locate(forge, repository),
            secret_env=forge.webhook_secret_env or "", token_env=forge.token_env or "", app=app,
        )  # fmt: skip


def _locate(forge: WrittenForge, repository: str) -> tuple[str, str]:
    """Return the address of the forge, and the repository's path; empty for an unknown one."""
    url, path = locate(repository)
    default = url or PUBLIC.get(forge.kind, "")
    return (forge.url or default).rstrip("/"), forge.repository or path


def locate(repository: str) -> tuple[str, str]:
    """Return the forge's address and the path in a repository's address; empty for unknown ones."""
    parts = urlsplit(repository)
    url, path = "", ""
    if parts.scheme in {"http", "https", "ssh"}:
        scheme = "https" if parts.scheme == "ssh" else parts.scheme
        host = parts.hostname or ""
        netloc = f"{host}:{parts.port}" if parts.port and parts.scheme != "ssh" else host
        url, path = f"{scheme}://{netloc}", parts.path
    elif (matched := _SSH(repository)) and "/" in matched[2]:
        url, path = f"https://{matched[1]}", matched[2]
    path = path.strip("/").removesuffix(".git")
    return url, path if _PATH(path) else ""
