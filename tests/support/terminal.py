"""A terminal that answers questions, for commands that ask."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bbops_server.accounts.rules import Scope
from tests.support import warm
from tests.support.pushing import Clone, Printed, World
from tests.support.served import environment


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("world")) as world:
        yield world


class Terminal:
    """Runs commands in a clone, with a token of somebody."""

    def __init__(self, world: World, name: str, clone: Clone) -> None:
        self.folder = clone.folder
        token = world.token(name, scopes=[Scope.DEPLOY, Scope.GIT])
        url = world.serving["control_url"]
        self.env = environment(world.folder) | {"BBOPS_TOKEN": token, "BBOPS_SERVER": url}

    def run(self, *arguments: str) -> Printed:
        done = warm.run([*arguments, "--project", "shop"], cwd=self.folder, env=self.env)
        return Printed(done.returncode, done.stdout + done.stderr)
