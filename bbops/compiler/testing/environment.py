"""Env values for tests: what is declared, else made up."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from bbops.base.names import env_name
from bbops.language.project import Project
from bbops.runtime.auth.keys import MAKING, make_key


def _keys(project: Project) -> Iterator[tuple[str, str]]:
    """Yield the variables that hold a key in PEM, and its algorithm."""
    auth = project.settings.model.auth
    if auth is None:
        return
    held = [(one.key, one.algorithm) for one in auth.keys]
    for reference, algorithm in ((auth.signing_key, auth.algorithm), *held):
        if reference is not None and algorithm in MAKING:
            yield env_name(reference), algorithm


_key = cache(make_key)


def make_environment(project: Project) -> Iterator[tuple[str, str | None]]:
    """Yield a value for every variable: what it declares, else one that is only for tests."""
    keys = dict(_keys(project))
    for name, variable in project.settings.model.env.items():
        if name in keys:
            yield name, _key(keys[name])
        elif variable.default is not None or (not variable.required and not variable.generate):
            yield name, variable.default
        else:
            yield name, f"test-value-of-{name}-".ljust(64, "x")
