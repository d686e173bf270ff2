"""A project, with what its declarations mean to each function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from bbops.compiler.check._events import find_payloads, find_topics, find_webhooks
from bbops.compiler.check._order import Graph, dependencies
from bbops.compiler.check._roles import find_roles
from bbops.compiler.check._roots import api_key_type, auth_type, env_type
from bbops.compiler.check._ways import Way, find_ways
from bbops.language.expressions.types import Type
from bbops.language.project import Project
from bbops.language.steps._ruled import RuleCaller
from bbops.language.steps._surroundings import SentWebhook, Topic


@dataclass(frozen=True)
class ResolvedProject(Project):
    """A project whose declarations are resolved, each when it is asked for first: O(resources)."""

    @classmethod
    def of(cls, project: Project) -> Self:
        """Return a project as one of these; itself if it is one."""
        if isinstance(project, cls):
            return project
        found = object.__new__(cls)
        vars(found).update(vars(project))  # with what it has found out about itself
        return found

    @cached_property
    def ways(self) -> Mapping[str, tuple[Way, ...]]:
        """The ways to each function that is reached."""
        return find_ways(self)

    def ways_to(self, function: str) -> tuple[Way, ...]:
        """Return every way to a function."""
        return self.ways.get(function, ())

    @cached_property
    def asking_by_function(self) -> dict[str, RuleCaller]:
        """Results of `_surroundings.asking`, by function."""
        return {}

    def ways_from(self, function: str) -> tuple[Way, ...]:
        """Return every way to a function and to those that call it, directly or not."""
        found, todo = dict[str, None]({function: None}), [function]
        while todo:
            more = [one for one in self.calling.get(todo.pop(), ()) if one not in found]
            found |= dict.fromkeys(more)
            todo += more
        return tuple(way for name in found for way in self.ways_to(name))

    @cached_property
    def calling(self) -> Mapping[str, tuple[str, ...]]:
        """For each function that others call: these."""
        found: dict[str, tuple[str, ...]] = {}
        for name, callees in self.callees.items():
            for callee in callees:
                found[callee] = (*found.get(callee, ()), name)
        return found

    @cached_property
    def graph(self) -> Graph:
        """The functions that each function builds on."""
        return dependencies(self, self.ways)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The roles that its tokens may have; empty where nobody knows."""
        return find_roles(self)

    @cached_property
    def topics(self) -> Mapping[str, Topic]:
        """Each topic by its file's name."""
        return find_topics(self)

    @cached_property
    def sent_webhooks(self) -> Mapping[str, SentWebhook]:
        """Each webhook that is sent, by its file's name."""
        return find_webhooks(self)

    @cached_property
    def payloads(self) -> Mapping[str, Sequence[Type]]:
        """The payloads that functions declare of each event that something waits for."""
        return find_payloads(self)

    @cached_property
    def env_type(self) -> Type:
        """The type of `env`."""
        return env_type(self)

    @cached_property
    def caller_types(self) -> Mapping[str, Type]:
        """The types of `vars.auth` and `vars.apiKey`, by their names."""
        return {"auth": auth_type(self), "apiKey": api_key_type()}
