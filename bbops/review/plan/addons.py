"""Say what an addon reaches that a change enables: hosts, secrets, and how many steps write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from bbops.base.names import env_name
from bbops.language.addons._base import AddonKind
from bbops.language.addons._base import kind as addon_kind
from bbops.language.project import Project, Resource
from bbops.language.resources._own_addon import ENDPOINT, OwnAddon, OwnStep
from bbops.review.plan.finding import Finding, finding
from bbops.review.plan.pairs import Pairs

_CODE = "outside-address"


def find_addons(pairs: Pairs) -> Iterator[Finding]:
    """Yield what addons reach in the new project that they did not in the old one."""
    for name, addon in pairs.head.addons.items():
        if not addon.model.enabled:
            continue
        if isinstance(addon.model, OwnAddon):
            yield from _own(pairs, name)
            continue
        found, old = addon_kind(name), pairs.base.addons.get(name)
        is_new = old is None or not old.model.enabled
        if found is not None and is_new and found.secrets:
            secrets = _named(_settings(addon), found.secrets)
            message = f"its steps reach {_hosts(found, addon)}{_with(secrets)} ({found.title})"
            yield finding(_CODE, f"addon {name}", message, addon.place("enabled"))


def _settings(addon: Resource[Any]) -> Mapping[str, str]:
    config = getattr(addon.model, "config", None)
    if isinstance(addon.model, OwnAddon):
        return addon.model.settings
    given: dict[str, str] = config.model_dump(by_alias=True, exclude_none=True) if config else {}
    return given


def _hosts(found: AddonKind, addon: Resource[Any]) -> str:
    told = _settings(addon).get(found.address)
    return _address(told) if told else " and ".join(found.hosts) or "its provider's servers"


def _named(settings: Mapping[str, str], keys: frozenset[str]) -> list[str]:
    """Return the env variables of settings."""
    return sorted({env_name(settings[key]) for key in keys if key in settings} - {""})


def _with(secrets: list[str]) -> str:
    word = "secret" if len(secrets) == 1 else "secrets"
    return f" with {word} {', '.join(secrets)}" if secrets else ""


def _address(address: str) -> str:
    """Return the host of an address, or the variable that names it."""
    variable = env_name(address)
    return f"the server that env {variable} names" if variable else urlsplit(address).netloc


# ---- of the project's own
def _own(pairs: Pairs, name: str) -> Iterator[Finding]:
    new, old = _reach(pairs.head, name), _reach(pairs.base, name)
    if new is None or (old and all({*now} <= {*was} for now, was in zip(new, old, strict=True))):
        return
    head = pairs.head.addons[name]
    hosts, secrets, steps = new
    writes = sum(one.model.writes for one in _steps(pairs.head, name).values())
    count = f"{writes} write" if writes == 1 else f"{writes} writes"
    message = f"reaches {' and '.join(hosts)}{_with([*secrets])}: {count}"
    if old is not None:
        added = sorted(steps - old[2])
        message += f", new: {', '.join(added)}" if added else ""
    yield finding(_CODE, f"addon {name}", message, head.place("server", key=True))


def _steps(project: Project, name: str) -> Mapping[str, Resource[OwnStep]]:
    return project.own_steps.get(name, {})


_Reach = tuple[tuple[str, ...], tuple[str, ...], frozenset[str]]


def _reach(project: Project, name: str) -> _Reach | None:
    """Return (hosts, secrets, what each writing step sends); None of one that is not enabled."""
    addon = project.addons.get(name)
    if addon is None or not isinstance(addon.model, OwnAddon) or not addon.model.enabled:
        return None
    model = addon.model
    hosts = {_address(model.settings.get(ENDPOINT) or model.address)}
    own = model.auth.client_credentials if model.auth else None
    hosts |= {_address(own.token_url)} if own else set()
    writes = {
        f"{step} ({_sent(one.model)})" for step, one in _steps(project, name).items()
        if one.model.writes
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
