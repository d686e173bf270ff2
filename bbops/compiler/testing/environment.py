"""Env values for tests, and tests of the connections of addons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import cast

from bbops.base.host import Clock, Database, Host, Http
from bbops.base.names import env_name
from bbops.compiler.compile.release import compile_addon
from bbops.compiler.testing.host import CountingRandom, KeptLog
from bbops.language.addons._base import kind as addon_kind
from bbops.language.project import Project
from bbops.runtime.auth.keys import MAKING, make_key
from bbops.runtime.vendors import link_addon
from bbops.runtime.vendors._probe import Connection, try_connection
from bbops.runtime.vendors._work import Work


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


async def try_addon(
    project: Project, name: str, value_of: Callable[[str], str | None], http: Http, clock: Clock
) -> Connection:
    """Return whether an addon works. It only reads, at the vendor.

    Args:
        value_of: the value of an env variable; None for one without.
        http: the door through which it is asked.
        clock: of whoever asks: some vendors refuse a request that is signed at another time.
    """
    told = compile_addon(project, name, project.addons[name].model)
    kind, linked = addon_kind(name), link_addon(name, told, value_of)
    for key, (variable, _) in told["config"].items():
        is_needed = kind is None or key in kind.needs_config
        if variable and is_needed and not linked.config[key]:
            return Connection("lacks", f"lacks a value of '{key}': env variable {variable}")
    if linked.probe is None:
        return Connection("failed", f"addon '{name}' has no test of its connection")
    host = Host(clock, CountingRandom(0), cast("Database", None), KeptLog(), http=http)
    return await try_connection(Work(name, host, linked.config, None), linked.probe)
