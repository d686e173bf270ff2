"""The command that makes a commit in a clone of a repository."""

from __future__ import annotations

import shlex

_END = "PATCH"


def write_patch_command(branch: str, base: str, patch: str, message: str) -> str:
    """Return a shell command that creates a branch with a patch as its commit.

    It can be pasted in any folder of a clone. Apart from the patch itself, no text is interpreted
    by the shell.

    Args:
        branch: the new branch.
        base: the commit that the patch builds on.
        patch: a diff as `git diff` prints it, with paths from the repository's root.
        message: the commit message.
    """
    end, lines = _END, set(patch.splitlines())
    while end in lines:
        end += "_"
    body = patch if patch.endswith("\n") else f"{patch}\n"
    return (
        f"git switch --create {shlex.quote(branch)} {base} &&\n"
        f"git -C \"$(git rev-parse --show-toplevel)\" apply --index <<'{end}' &&\n"
        f"{body}{end}\n"
        f"git commit --message={shlex.quote(message)}\n"
    )
