"""How names in a project must look.

Lower case only, so two files can never collide on a disk that ignores case.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Annotated, Final

from pydantic import StringConstraints

ColumnName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
VariableName = Annotated[str, StringConstraints(pattern=r"^[a-z][A-Za-z0-9_]{0,62}$")]
EnvName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,62}$")]
Duration = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,6}(ms|s|m|h|d|w)$")]
"""Such as `10s` or `7d`; `bbops.runtime.values.units` reads it."""
Size = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,6}(B|KB|MB|GB)$")]
"""Such as `500KB` or `5MB`; a kilobyte has 1,024 bytes."""
EVENT_NAME: Final = r"^[a-z][A-Za-z0-9_-]{0,62}\.[a-z][A-Za-z0-9_-]{0,62}$"
EventName = Annotated[str, StringConstraints(pattern=EVENT_NAME)]
"""The name of an event: `entity.action`, for example `user.registered`."""
EnvReference = Annotated[str, StringConstraints(pattern=r"^\$\{ *env\.[A-Z][A-Z0-9_]{0,62} *\}$")]
"""Exactly `${ env.NAME }`: a secret is never in git."""


def env_name(reference: str) -> str:
    """Return the env variable that an EnvReference names; empty for any other text."""
    found = _REFERENCE(reference)
    return found[1] if found else ""


_REFERENCE = re.compile(r"\$\{ *env\.([A-Z][A-Z0-9_]{0,62}) *\}").fullmatch

INLINE: Final = "endpoint "
"""The prefix of functions that are the steps of an endpoint: no file has such a name."""


def title_of(function: str) -> str:
    """Return the name of a function for messages, or of the endpoint whose steps it is."""
    if function.startswith(INLINE):
        return f"endpoint '{function.removeprefix(INLINE)}'"
    return f"function '{function}'"


def moved_hint(inline: Container[str], name: str) -> str:
    """Return the fix for a name of a function that is only the steps of an endpoint.

    Args:
        inline: the endpoints that have steps of their own.
    """
    if name not in inline:
        return ""
    return (
        f"endpoints/{name}.yaml has steps of its own, which nothing else can run: move them to"
        f" functions/{name}.yaml, and write 'function: {name}' there"
    )
