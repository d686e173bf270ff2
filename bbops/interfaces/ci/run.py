"""The run of a CI job: its event, its commits and the files it writes to.

`bbops.interfaces.ci.environments` has one file for each CI system, found by its name. Values of the
environment are untrusted: an author of a proposal chooses the name of its branch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bbops.base.errors import BbopsError
from bbops.base.registry import members
from bbops.interfaces.ci.files import read_file
from bbops.language.loading.load import load
from bbops.source.tree import MemoryTree

ENVIRONMENTS: Final = "bbops.interfaces.ci.environments"
_FALLBACK: Final = "plain"
_WITH_COMMANDS: Final = frozenset({"github", "gitea", "forgejo"})


@dataclass(frozen=True, slots=True)
class CiRun:
    """A run of a CI job.

    Attributes:
        forge: "github", "gitea", "forgejo", "gitlab", "jenkins" or "plain".
        event: "push", "proposal", "queue" or "manual".
        commit: the head of the proposal, or the pushed commit; empty if only HEAD is known.
        branch: the branch of the commit; empty if unknown.
        target: the branch that a proposal or a merge queue changes; else empty.
        base: the commit to compare with; empty if the CI system does not name it.
        number: the number of the proposal, or 0.
        repository: OWNER/NAME at the forge; empty if unknown.
        is_fork: whether the commit comes from another repository.
        url: the page of the run; empty if unknown.
        server: the address of the forge; empty if unknown.
        api: the address of the forge's REST API; empty if unknown.
        summary: the file for the summary of the step.
        outputs: the file for the outputs of the step.
        default_branch: the default branch of the repository; empty if unknown.
        scratch: a folder for temporary files of this job alone.
    """

    forge: str = _FALLBACK
    event: str = "manual"
    commit: str = ""
    branch: str = ""
    target: str = ""
    base: str = ""
    number: int = 0
    repository: str = ""
    is_fork: bool = False
    url: str = ""
    server: str = ""
    api: str = ""
    summary: Path | None = None
    outputs: Path | None = None
    default_branch: str = ""
    scratch: Path | None = None

    @property
    def has_commands(self) -> bool:
        """Whether the runner reads workflow commands, such as `::error …`, from the output."""
        return self.forge in _WITH_COMMANDS

    @property
    def is_ci(self) -> bool:
        """Whether a CI system was found."""
        return self.forge != _FALLBACK or self.event != "manual"


def read_run(env: Mapping[str, str], *, base: str = "", commit: str = "") -> CiRun:
    """Return the run that the environment variables describe.

    Args:
        env: the variables, such as `os.environ`.
        base: the revision to compare with; by default the base of the CI system.
        commit: the revision of the change; by default the commit of the CI system.

    Raises:
        BbopsError: a revision begins with `-`, or the file of the event cannot be read.
    """
    run = _find_run(env)
    run = replace(run, base=base or run.base, commit=commit or run.commit)
    for name in ("commit", "branch", "target", "base", "default_branch"):
        if getattr(run, name).startswith("-"):
            message = f"'{getattr(run, name)}' is not a revision: it begins with '-'"
            raise BbopsError(message, hint=f"check the {name.replace('_', ' ')} of this CI job")
    return run


def _find_run(env: Mapping[str, str]) -> CiRun:
    environments = dict(members(ENVIRONMENTS))
    fallback = environments.pop(_FALLBACK)
    runs = (environment.read(env) for environment in environments.values())
    found: CiRun | None = next((run for run in runs if run is not None), None)
    return found or fallback.read(env) or CiRun()


_FILE: Final = "project.yaml"
_MAX_BYTES: Final = 1 << 20


def project_name(folder: Path) -> str:
    """Return the name in project.yaml; the name of the folder if the file has errors."""
    try:
        data = read_file(folder / _FILE, _MAX_BYTES)
    except BbopsError:
        data = None
    project = load(MemoryTree({_FILE: data})).project if data else None
    return project.settings.model.name if project else folder.resolve().name
