"""The state folder whose env values a command changes, found as `bbops jobs` finds its server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bbops.base.errors import GitError, ServerError
from bbops.interfaces.cli._server import find_running
from bbops.source.git.command import run
from bbops.source.git.place import find_repository
from bbops_server.commands._projects import require_project, state_of
from bbops_server.commands._settings import state_folder

_SERVE: Final = Path(".bbops/state")
_DEV: Final = Path(".bbops/dev")
_REMOTE_MACHINE: Final = (
    "on the server's machine, add --state DIR with its state folder; for a server that will start"
    f" here, add --state {_SERVE}"
)


@dataclass(frozen=True, slots=True)
class EnvState:
    """A server's state folder; `reader` says which server reads it, for the command's answer."""

    folder: Path
    reader: str

    def make(self) -> Path:
        """Return the folder, made for this user alone where it is missing."""
        is_default = self.folder == _SERVE
        return state_folder(Path.cwd(), None if is_default else self.folder)


def find_env_state(state: Path | None, *, drafts: bool = False) -> EnvState:
    """Return the state folder that a server reads.

    The first of these: `state`, the folder of a server that runs for this folder or a parent
    folder, the folder of the server that ran here last, the folder that `bbops serve` will make
    here.

    Args:
        state: the folder from the command line.
        drafts: whether the value is one of drafts, which `bbops dev` does not have.

    Raises:
        ServerError: this is a clone or no project, and no server keeps its state here.
    """
    if state is not None:
        return EnvState(state, "")
    running = find_running(("state",) if drafts else ("state", "dev"))
    if running is not None:
        return EnvState(running, f"for 'bbops {_verb(running)}', in {running}")
    require_project(None)
    if not drafts and _DEV.is_dir() and not _SERVE.is_dir():
        return EnvState(_DEV, f"for 'bbops dev'; for 'bbops serve', add --state {_SERVE}")
    found = state_of(None)
    if not found.is_dir() and _has_remote():
        raise ServerError(
            "this folder is a clone, and no server keeps its state here", hint=_REMOTE_MACHINE
        )
    other = f"; for 'bbops dev', add --state {_DEV}" if _DEV.is_dir() and not drafts else ""
    return EnvState(found, f"for 'bbops serve' in this folder{other}")


def _verb(folder: Path) -> str:
    return "dev" if folder.name == "dev" else "serve"


def _has_remote() -> bool:
    """Return whether this folder's repository was cloned from another one, or is pushed to one."""
    try:
        place = find_repository(Path.cwd())
    except GitError:
        return False
    return bool(run(place, ("config", "--local", "--get-regexp", r"^remote\.")).output)
