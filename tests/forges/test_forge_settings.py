"""The credential of a forge in server.yaml."""

from __future__ import annotations

import pytest

from bbops_server.settings.server_file.load import load
from bbops_server.settings.server_file.settings import access_settings


def read(forge: str, repository: str = "https://github.com/acme/shop.git") -> list[str]:
    """Return the forges of a file, or its mistakes."""
    text = f"projects:\n  shop:\n    repository: {repository}\n    forge: {forge}\n"
    found = load("server.yaml", text.encode(), {})
    if found.file is None:
        return [f"{each.message} ({each.hint})" for each in found.diagnostics]
    return [f"{each.url} {each.repository}" for each in access_settings(found.file).forges]


@pytest.mark.parametrize(
    "repository",
    ["https://github.com/acme/shop.git", "git@github.com:acme/shop.git",
     "ssh://git@github.com/acme/shop"],
)  # fmt: skip
def test_forge_is_found_by_the_address(repository: str) -> None:
    found = read("{ kind: github, tokenEnv: TOKEN }", repository)
    assert found == ["https://github.com acme/shop"]


def test_forge_is_named_beside_a_local_mirror() -> None:
    named = "{ kind: github, url: https://git.acme.test, repository: acme/shop, tokenEnv: TOKEN }"
    assert read(named, "./mirror.git") == ["https://git.acme.test acme/shop"]


def test_project_of_gitlab_is_in_any_number_of_groups() -> None:
    for address in ("https://gitlab.com/acme/backend/shop.git", "git@gitlab.com:acme/backend/shop"):
        found = read("{ kind: gitlab, tokenEnv: TOKEN }", address)
        assert found == ["https://gitlab.com acme/backend/shop"]


@pytest.mark.parametrize("kind", ["gitea", "forgejo"])
def test_token_for_gitea_and_forgejo_is_accepted(kind: str) -> None:
    found = read(f"{{ kind: {kind}, tokenEnv: TOKEN }}", "https://git.acme.test/acme/shop.git")
    assert found == ["https://git.acme.test acme/shop"]


@pytest.mark.parametrize(
    ("forge", "message"),
    [("{ kind: github }", "it has no credential"),
     ("{ kind: github, tokenEnv: A, app: { id: 1, keyEnv: B } }", "both 'app' and 'tokenEnv'"),
     ("{ kind: gitlab, app: { id: 1, keyEnv: B } }", "'gitlab' has no Apps"),
     ("{ kind: github, tokenEnv: A, url: http://git.acme.test }", "expected an https URL")],
)  # fmt: skip
def test_mistake_is_named(forge: str, message: str) -> None:
    assert message in "".join(read(forge))
