"""Hosts, secrets and writing steps of the addons that a change enables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from bbops.base.names import env_name
from bbops.language.addons._base import AddonKind
from bbops.language.addons._base import kind as addon_kind
from bbops.language.project import Project, Resource
from bbops.language.resources._own_addon import ENDPOINT, OwnAddon, OwnStep
from bbops.review.plan.changes import Pairs
from bbops.review.plan.codes import Finding, finding

_CODE = "outside-address"


def find_addons(pairs: Pairs) -> Iterator[Finding]:
    """Yield the hosts and secrets that addons of the new project add."""
    for name, addon in pairs.head.addons.items():
        if not addon.model.enabled:
            continue
        if isinstance(addon.model, OwnAddon):
            yield from _own(pairs, name)
        elif (found := addon_kind(name)) is not None:
            yield from _of_catalog(pairs, name, found)


def _of_catalog(pairs: Pairs, name: str, found: AddonKind) -> Iterator[Finding]:
    new, old = _access(pairs.head, name, found), _access(pairs.base, name, found)
    if new is None or not any(new):
        return
    if old is not None and all({*now} <= {*was} for now, was in zip(new, old, strict=True)):
        return
    hosts, secrets = new
    where = " and ".join(hosts) or "its provider's servers"
    writes = f"; {wrote}" if (wrote := writing_steps(name)) else ""
    message = f"its steps reach {where}{_with([*secrets])} ({found.title}){writes}"
    yield finding(_CODE, f"addon {name}", message, pairs.head.addons[name].place("enabled"))


def writing_steps(name: str) -> str:
    """Return `2 steps write: createCustomer, createRefund`; empty if no step writes."""
    found = addon_kind(name)
    writes = found.writes if found is not None else ()
    count = "1 step writes" if len(writes) == 1 else f"{len(writes)} steps write"
    return f"{count}: {', '.join(writes)}" if writes else ""


def _access(
    project: Project, name: str, found: AddonKind
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the hosts and secrets of an addon of the catalog; None if it is not enabled."""
    addon = project.addons.get(name)
    if addon is None or not addon.model.enabled:
        return None
    settings = _settings(addon)
    told = settings.get(found.address)
    hosts = (_address(told),) if told else found.hosts
    if found.any_host:
        hosts = (*hosts, "any public address that a function or a page names")
    return hosts, tuple(_named(settings, found.secrets))


def _settings(addon: Resource[Any]) -> Mapping[str, str]:
    config = getattr(addon.model, "config", None)
    if isinstance(addon.model, OwnAddon):
        return addon.model.settings
    given: dict[str, str] = config.model_dump(by_alias=True, exclude_none=True) if config else {}
    return given


def _named(settings: Mapping[str, str], keys: frozenset[str]) -> list[str]:
    """Return the env variables of settings."""
    return sorted({env_name(settings[key]) for key in keys if key in settings} - {""})


def _with(secrets: list[str]) -> str:
    word = "secret" if len(secrets) == 1 else "secrets"
    return f" with {word} {', '.join(secrets)}" if secrets else ""


def _address(address: str) -> str:
    """Return the host of an address, or the variable that contains it."""
    variable = env_name(address)
    return f"the server that env {variable} names" if variable else urlsplit(address).netloc


# ---- the project's own addons
def _own(pairs: Pairs, name: str) -> Iterator[Finding]:
    new, old = _reach(pairs.head, name), _reach(pairs.base, name)
    if new is None or (old and all({*now} <= {*was} for now, was in zip(new, old, strict=True))):
        return
    head = pairs.head.addons[name]
    hosts, secrets, steps = new
    writes = sorted(
        step for step, declared in _steps(pairs.head, name).items() if declared.model.writes
    )
    count = "1 write" if len(writes) == 1 else f"{len(writes)} writes"
    message = f"reaches {' and '.join(hosts)}{_with([*secrets])}: {count}"
    if old is None:
        message += f" ({', '.join(writes)})" if writes else ""
    else:
        added = sorted(steps - old[2])
        message += f", new: {', '.join(added)}" if added else ""
    yield finding(_CODE, f"addon {name}", message, head.place("server", key=True))


def _steps(project: Project, name: str) -> Mapping[str, Resource[OwnStep]]:
    return project.own_steps.get(name, {})


_Reach = tuple[tuple[str, ...], tuple[str, ...], frozenset[str]]


def _reach(project: Project, name: str) -> _Reach | None:
    """Return (hosts, secrets, the requests of writing steps); None if it is not enabled."""
    addon = project.addons.get(name)
    if addon is None or not isinstance(addon.model, OwnAddon) or not addon.model.enabled:
        return None
    model = addon.model
    hosts = {_address(model.settings.get(ENDPOINT) or model.address)}
    own = model.auth.client_credentials if model.auth else None
    hosts |= {_address(own.token_url)} if own else set()
    writes = {
        f"{step} ({_sent(declared.model)})" for step, declared in _steps(project, name).items()
        if declared.model.writes
    }  # fmt: skip
    secrets = _named(model.settings, model.secrets)
    return tuple(sorted(hosts)), tuple(secrets), frozenset(writes)


def _sent(step: OwnStep) -> str:
    if step.tool is not None:
        return f"tool {step.tool.name}"
    request = step.request
    if request is None or request.graphql is not None:
        return "mutation"
    return f"{request.verb} {request.path}"
