"""What a git process sees of this machine, and how much of it it may take. Runs no git."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bbops.source.git.place import Place

MAX_OUTPUT_BYTES = 128 << 20

_CORES = 8  # threads that git may use at once
_KEPT = re.compile(r"GIT_(AUTHOR|COMMITTER)_|GIT_CONFIG_GLOBAL$|GIT_EXEC_PATH$|GIT_PYTHON_")
_KEPT_ONLINE = re.compile(r"GIT_(SSH|SSL|PROXY_SSL|HTTP_PROXY|ASKPASS$)")
_SETTINGS = {
    "protocol.allow": "never",
    "core.fsmonitor": "false",
    "core.commitGraph": "false",  # a file that could lie about who descends from whom
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_FIXED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": f"{os.devnull}/none",  # of a file that is there, git complains
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What a command may take. A file and memory bound needs a POSIX shell, which servers have."""

    seconds: float | None = None
    quiet_seconds: float | None = None
    output_bytes: int = MAX_OUTPUT_BYTES
    file_bytes: int | None = None
    memory_bytes: int | None = None
    niceness: int = 0


def scrubbed_environment(settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return all that a git process which others start may see of this machine.

    No home folder, no settings but these and the repository's own, and of all ways to reach another
    repository none.
    """
    own = create_environment(None, None, "", [("safe.directory", "*"), *settings])
    return {"PATH": os.environ.get("PATH", os.defpath), "GIT_CONFIG_GLOBAL": os.devnull, **own}


def create_environment(
    place: Place | None, work_tree: Path | None, scheme: str, more: Iterable[tuple[str, str]]
) -> dict[str, str]:
    """Return what a process gets beside, or in the place of, what this one has.

    Args:
        place: its repository.
        work_tree: the folder whose files it may touch.
        scheme: the one way it may reach another repository; empty for none.
        more: settings of git for it alone.
    """
    values = dict(_FIXED)
    # The only list that the settings of a repository cannot add to.
    values["GIT_ALLOW_PROTOCOL"] = scheme
    if not scheme:  # the system's settings may hold the helper that knows a password
        values["GIT_CONFIG_NOSYSTEM"] = "1"
    settings = [*_SETTINGS.items(), *more]
    if scheme:
        settings.append((f"protocol.{scheme}.allow", "always"))
    if place is not None:
        values["GIT_DIR"] = str(place.git_dir)
        if place.index is not None:
            values["GIT_INDEX_FILE"] = str(place.index)
        if place.quarantine is not None:
            own = str(place.quarantine) if place.only_quarantine else None
            beside = _quoted(place.quarantine)
            values |= (
                {"GIT_OBJECT_DIRECTORY": own} if own
                else {"GIT_ALTERNATE_OBJECT_DIRECTORIES": beside}
            )  # fmt: skip
        settings += [("safe.directory", str(one)) for one in (place.git_dir, place.common_dir)]
    if work_tree is not None:
        values["GIT_WORK_TREE"] = str(work_tree.absolute())
        settings.append(("safe.directory", values["GIT_WORK_TREE"]))
    values["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (key, value) in enumerate(settings):
        values[f"GIT_CONFIG_KEY_{number}"] = key
        values[f"GIT_CONFIG_VALUE_{number}"] = value
    return values


def _quoted(path: Path) -> str:
    """Return a path in a list that colons part: git(1), GIT_ALTERNATE_OBJECT_DIRECTORIES."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def without_foreign(own: Mapping[str, str], scheme: str) -> list[str]:
    """Return a command prefix that drops what a surrounding git, a hook say, has set for itself.

    GitPython always passes this process's environment on and cannot remove anything from it.
    """
    if sys.platform == "win32":
        return []
    foreign = [name for name in os.environ if name.startswith("GIT_") and name not in own]
    names = [name for name in foreign if not _is_kept(name, scheme)]
    names += ["SSH_ASKPASS"] if "SSH_ASKPASS" in os.environ else []  # it opens a window
    return ["/usr/bin/env", *(part for name in names for part in ("-u", name))] if names else []


def _is_kept(name: str, scheme: str) -> bool:
    return bool(_KEPT.match(name) or (scheme and _KEPT_ONLINE.match(name)))


def bounded(limits: Limits) -> list[str]:
    """Return a command prefix that bounds memory, processor, and the size of any file written."""
    bounds = []
    if limits.memory_bytes:
        bounds.append(f"ulimit -S -v {limits.memory_bytes // 1024}")
    if limits.file_bytes:
        bounds.append(f"ulimit -S -f {limits.file_bytes // 512}")
    if not bounds or sys.platform == "win32":
        return []
    if limits.seconds:  # should nobody be left to end it: that a server was killed, say
        bounds.append(f"ulimit -S -t {_CORES * math.ceil(limits.seconds)}")
    # A system that knows no such bound, or has a tighter one, goes without ours.
    script = "; ".join(f"{bound} 2>/dev/null" for bound in bounds)
    nice = f"nice -n {limits.niceness} " if limits.niceness else ""
    return ["/bin/sh", "-c", f'{script}; exec {nice}"$@"', "git"]
