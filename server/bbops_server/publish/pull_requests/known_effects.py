"""The effects of pull requests, read once for each head, base, live release and set of values."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import Final

from bbops_server.process.host.secrets import StoreStamp
from bbops_server.publish.impact.impact import HostedProject, ImpactReader, ProposalTests
from bbops_server.publish.pull_requests.effects import EffectReader, PullEffect, heads_folder
from bbops_server.publish.pull_requests.reading import FollowedPull
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.remote import RemoteSource
from bbops_server.publish.sources.sources import BranchSource

RETRY_FACTOR: Final = 20.0
"""The pause after an effect that could not be read, by its duration."""

SLOW_SECONDS: Final = 5.0
"""The duration from which own branches pause, too."""

EffectKey = tuple[str, str, str, StoreStamp, bool]
"""Head, base, live revision, stamp of the env values, and whether its code runs."""


class KnownEffects:
    """The effects of the open pull requests of one project."""

    def __init__(self, source: RemoteSource, tests: ProposalTests) -> None:
        self._source, self._tests = source, tests
        self._effects: dict[int, tuple[EffectKey, PullEffect]] = {}
        self._retries: dict[int, float] = {}

    def find(self, number: int, head: str) -> PullEffect | None:
        """Return the effect of merging a head; None if it is not known yet."""
        _, effect = self._effects.get(number, (None, None))
        return effect if effect is not None and effect.head == head else None

    def drop(self, number: int) -> None:
        """Forget a pull request that has ended."""
        self._effects.pop(number, None)
        self._retries.pop(number, None)

    async def read(
        self, followed: FollowedPull, base: str, live: str, at: PublishContext, *, runs: bool
    ) -> PullEffect:
        """Return the effect of a merge, which is read again once something has changed.

        The tests of a head run once: a change of the live branch plans it again, no more.

        Args:
            followed: the pull request.
            base: the newest commit of its target.
            live: the live revision; empty without one.
            at: the project.
            runs: whether its code runs here.
        """
        number, is_fork = followed.pull.number, followed.pull.is_fork
        key = followed.head, base, live, at.secrets.stamp(), runs
        known_key, known = self._effects.get(number, (None, None))
        is_late = monotonic() >= self._retries.get(number, 0.0)
        if known is not None and known_key == key and not (known.problem and is_late):
            return known
        tests = known.tests if known is not None and known.head == followed.head else None
        began = monotonic()
        reader = self._reader(at)
        runs_tests = runs and tests is None
        effect = await reader.read(number, base, followed.head, runs_tests=runs_tests)
        now = monotonic()
        is_limited = is_fork or now - began > SLOW_SECONDS
        self._retries[number] = now + (RETRY_FACTOR * (now - began) if is_limited else 0.0)
        if tests is not None:
            effect = replace(effect, tests=tests)
        self._effects[number] = key, effect
        return effect

    def _reader(self, at: PublishContext) -> EffectReader:
        # unreviewed files must not delay a publication
        build = at.plane.awake.build
        heads = heads_folder(self._source.mirror)
        source = BranchSource(heads, at.project.branch, at.project.path)
        project = HostedProject(at.project.name, at, source)
        return EffectReader(ImpactReader(build, self._tests), project)
