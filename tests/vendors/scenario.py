"""What a step of an addon is held to: the request that its vendor's own library makes.

Each file of `tests/vendors/scenarios/` is one addon: `VENDOR`. What every step of every vendor is
then held to is in `test_scenarios.py` and `test_faults.py`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bbops.language.addons._base import kinds
from tests.vendors import scenarios
from tests.vendors.asking import Asked
from tests.vendors.stand_in import Answer, Request

CANARY = "canary-of-a-secret-that-nobody-may-read"
"""The value of every secret setting: it may be in no message, log or history."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One step, and what is known of it.

    Attributes:
        step: as YAML, such as `payments.createRefund: { chargeId: ch_1 }`.
        library: asks the same of the vendor's own library, which talks to an address.
        answer: what the vendor answers, to one request after the other.
        gives: the result of the step.
        differs: parts of the request that may differ from the library's, and why.
        counts: how often the vendor is asked after a fault, where it is not what the table says.
    """

    step: str
    library: Callable[[str], object]
    answer: Answer | tuple[Answer, ...]
    gives: Any
    differs: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The step's key."""
        return self.step.partition(":")[0]

    @property
    def answers(self) -> tuple[Answer, ...]:
        """What the vendor answers."""
        return self.answer if isinstance(self.answer, tuple) else (self.answer,)


@dataclass(frozen=True, slots=True)
class Vendor:
    """An addon in a test.

    Attributes:
        config: its `config` as YAML; `URL` is the address of the stand-in.
        secrets: the variables that it names, with their values: each holds the canary.
        scenarios: at least one for each step that asks the vendor.
        status: of the refusal, and what it means where that is another one.
        headers: those that count besides method, path, query, type and body.
        own: headers that each request has its own value of.
        refusal: an error in the vendor's shape, and the words and reason that a step fails with.
        offline: steps that ask nobody.
        seconds: after which a step that is not answered is given up; it comes to ask in that time.
    """

    addon: str
    config: str
    secrets: Mapping[str, str]
    scenarios: tuple[Scenario, ...]
    headers: tuple[str, ...]
    refusal: Any
    words: str
    reason: str
    status: int = 402
    means: int = 402
    own: tuple[str, ...] = ()
    offline: tuple[str, ...] = ()
    seconds: float = 0.3

    def asked(self, box: Path, function: str, url: str) -> Asked:
        """Return a project with the addon, whose function is `function`."""
        config = "config:\n" + "".join(f"  {line}\n" for line in self.config.splitlines())
        return Asked(
            box, self.addon, config.replace("URL", url), function, env=self.secrets,
            has_database=any(one.per_second for one in kinds()[self.addon].actions.values()),
        )  # fmt: skip

    def parts(self, request: Request) -> dict[str, Any]:
        """Return the parts of a request that are compared."""
        headers = {name: request.headers.get(name) for name in self.headers}
        own = {name: name in request.headers for name in self.own}
        whole = {
            "method": request.method, "path": request.path, "query": request.query,
            "type": request.type, "body": request.body,
        }  # fmt: skip
        return whole | headers | own


@cache
def vendors() -> dict[str, Vendor]:
    """Return every vendor by its addon."""
    found = [one.name for one in pkgutil.iter_modules(scenarios.__path__)]
    every = [importlib.import_module(f"{scenarios.__name__}.{name}").VENDOR for name in found]
    return {one.addon: one for one in every}


def every_scenario() -> list[tuple[Vendor, Scenario]]:
    """Return the scenarios of all vendors."""
    return [(vendor, one) for vendor in vendors().values() for one in vendor.scenarios]


def returning(step: str) -> str:
    """Return a function that gives the result of a step."""
    return f"steps:\n  - {step}\n    as: it\n  - return: {{ value: '${{ vars.it }}' }}\n"
