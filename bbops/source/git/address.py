"""Where a repository that is not on this machine's disk is fetched from.

A password never stands in an address: it would show in the list of processes and in messages.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult

from bbops.base.addresses import split
from bbops.base.errors import GitError

SCHEMES = ("https", "ssh", "file")
OPEN_SCHEMES = ("http", "git")
"""Anybody on the way could change what these bring: only from this machine itself."""

_MAX_NAME = 20  # a longer user name is a token
_SCP = re.compile(
    r"(?:[\w.+-]+@)?(?P<host>\w[\w.-]*|\[[0-9A-Fa-f:.]+\]):(?P<path>[^:].*)", re.DOTALL
)
_ODD = re.compile(r"[\x00-\x20\x7f]")
_BRANCH = re.compile(
    r"(?!.*(?:\.\.|@\{|//|\.lock(?:/|$)|/\.|\.(?:/|$)))[^-./][^\x00-\x20\x7f~^:?*\[\\]*(?<!/)"
)
_CURE = (
    "remove it and configure git instead: a credential helper ('git help credentials'),"
    " or an ssh address and a key"
)


@dataclass(frozen=True, slots=True)
class Address:
    """A repository's address: `url` is for git, `shown` for people, `name` its last part."""

    url: str
    scheme: str
    shown: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Address | None:
        """Return the address, None for the path of a folder.

        Raises:
            GitError: it holds a password, or leads to a place that is not fetched from.
        """
        if "://" in text:
            return _of_url(text)
        if "::" in text.partition("/")[0]:
            raise _unknown(text.partition("::")[0])
        matched = None if Path(text).exists() else _SCP.fullmatch(text)
        if matched is None:
            return None
        _refuse_odd(text)
        shown = f"{matched['host']}:{matched['path']}"
        return cls(text, "ssh", shown, _name(matched["path"]))


def is_branch(name: str) -> bool:
    """Return whether git takes a name for a branch, or for a folder of tags."""
    return _BRANCH.fullmatch(name) is not None


def require_branch(branch: str) -> str:
    """Return the name of a branch, if it can be one.

    Raises:
        GitError: it cannot.
    """
    if is_branch(branch):
        return branch
    raise GitError(f"'{branch}' is not a valid branch name", hint="such as main")


def _of_url(text: str) -> Address:
    parts = split(text)
    if parts is None:
        hint = "such as https://example.org/team/project.git"
        raise GitError("this is not a repository URL", hint=hint)
    _refuse_secret(parts)
    _refuse_odd(text)
    if parts.scheme in OPEN_SCHEMES and not _is_here(parts.hostname or ""):
        raise GitError(
            f"'{_shown(parts)}' would be transferred without encryption",
            hint="use https or ssh; http and git are allowed for localhost only",
        )
    if parts.scheme not in SCHEMES + OPEN_SCHEMES:
        raise _unknown(parts.scheme)
    if (parts.scheme != "file" and not parts.hostname) or not parts.path.strip("/"):
        raise GitError(
            f"'{_shown(parts)}' does not name a repository", hint="it needs a host and a path"
        )
    if (parts.hostname or "").startswith("-"):
        raise GitError(f"'{parts.hostname}' is not a valid host name")
    return Address(text, parts.scheme, _shown(parts), _name(parts.path))


def _refuse_secret(parts: SplitResult) -> None:
    if parts.password is not None or parts.query or parts.fragment:
        what = "a password" if parts.password is not None else "more than a path"
        raise GitError(f"the address '{_shown(parts)}' was given with {what}", hint=_CURE)
    if parts.scheme != "ssh" and len(parts.username or "") > _MAX_NAME:
        raise GitError("the URL contains a token as its user name", hint=_CURE)


def _refuse_odd(text: str) -> None:
    if _ODD.search(text):
        raise GitError("the URL of the repository contains a space or control character")


def _unknown(scheme: str) -> GitError:
    known = ", ".join(f"{one}://" for one in SCHEMES)
    return GitError(
        f"'{scheme}' is not a supported protocol", hint=f"expected {known}, or git@host:path"
    )


def _shown(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _name(path: str) -> str:
    return path.rstrip("/").removesuffix(".git").rstrip("/").rpartition("/")[2] or "repository"


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
