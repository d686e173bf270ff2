"""addon: settings of one addon of the catalog; the file's name is the addon's id."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from pydantic import create_model

from bbops.base.model import Plain
from bbops.language.addons._base import kind
from bbops.language.resources._kind import Kind
from bbops.language.resources._own_addon import OwnAddon, OwnStep
from bbops.runtime.vendors import module_of


class Addon(Kind):
    """Settings of one addon of the catalog; the file's name is the addon's id.

    - It is disabled unless it says `enabled: true`. A step of an addon that is disabled or absent
      is a warning: it publishes, and fails with `addon-disabled` when it runs.
    - What is marked ° this version does not run: a change that adds it is refused [not-supported].
    - Secrets are always `${ env.NAME }`; other settings are text, or exactly that.
    - A parameter of a step that may be left out may also be null.
    - In tests `mocks` answer its steps. Those of imageProcessing need
      `pip install 'bbops[images]'`.
    - A vendor that answers with an error fails the step as one of `http` fails: `error.status` is
      its answer, `error.reason` its own code. `retry` asks again where that may help, and where
      nothing is done twice by it (docs/decisions/0080).
    """

    folder: ClassVar[str] = "addons"
    rank: ClassVar[int] = 90
    deepest: ClassVar[int] = 2
    segment: ClassVar[str] = r"[a-z][A-Za-z0-9]*"
    style: ClassVar[str] = "ids of addons, in camelCase"

    description: str | None = None
    enabled: bool = False
    config: Plain = None

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return the summary of a resource for lists, beside its description."""
        return "enabled" if body.get("enabled") else "disabled"


@cache
def _catalog_model(name: str) -> type[Addon] | None:
    found = kind(name)
    if found is None:
        return None
    config: Any = (found.config | None, None)
    model = create_model("Addon", __base__=Addon, config=config)
    model.run_by = module_of(name)
    return model


def addon_model(name: str) -> type[Kind]:
    """Return the model of a file in addons/ by its name: `payments`, `billing`, `billing/refund`.

    An addon of the catalog has a typed `config`; any other one is the project's own.
    """
    if "/" in name:
        return OwnStep
    return _catalog_model(name) or OwnAddon
