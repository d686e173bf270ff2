"""What nothing uses: variables of `env`, functions that nothing runs, `job` of one without jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.compiler.check._checked import CheckedProject
from bbops.language.project import function_of

_READ = re.compile(r"\benv\s*(?:\?\.|\.|\[\s*['\"])\s*([A-Z][A-Z0-9_]*)")
_WHOLE = re.compile(r"\$\{\s*env\b(?!\s*[.?\[])")


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield a warning for each of them; none where a file could not be read."""
    if not project.broken:
        yield from _variables(project)
        yield from _functions(project)
        yield from _jobs(project)


def _variables(project: CheckedProject) -> Iterator[Diagnostic]:
    settings, declared = project.settings, project.settings.model.env
    every = [one.document.source for one in project.every] if declared else []
    sources = [source for source in every if "env" in source]  # 100 times faster than a pattern
    if any(_WHOLE.search(source) for source in sources):
        return
    read = {name for source in sources for name in _READ.findall(source)}
    misspelt = [name for name in read if name not in declared]
    for name in declared:
        if name not in read and not any(suggest(one, [name]) for one in misspelt):
            yield Diagnostic(
                settings.place("env", name, key=True), "unused-env",
                f"nothing reads the env variable '{name}'",
                f"remove it, or use 'env.{name}'", severity="warning",
            )  # fmt: skip


def _functions(project: CheckedProject) -> Iterator[Diagnostic]:
    """A project without any way in is being written: nothing is said of it yet."""
    functions = project.resources["functions"].values()
    if not any(project.ways_to(name) for name in project.functions):
        return
    called = {
        callee for name, callees in project.callees.items() for callee in callees if callee != name
    }
    called |= {one.model.function for one in project.tests.values() if one.model.function}
    called |= {function_of(one) for one in project.endpoints.values()} | project.middleware
    misspelt = called - project.functions.keys()
    for function in functions:
        is_used = function.name in called or project.ways_to(function.name)
        if not is_used and not any(suggest(one, [function.name]) for one in misspelt):
            yield Diagnostic(
                function.place(), "unused-function", f"nothing runs function '{function.name}'",
                "use it in an endpoint, a 'call' or a test, or remove the file",
                severity="warning",
            )  # fmt: skip


def _jobs(project: CheckedProject) -> Iterator[Diagnostic]:
    for function in project.functions.values():
        if function.model.job is not None and function.name not in project.started:
            yield Diagnostic(
                function.place("job", key=True), "unused-job",
                f"nothing enqueues function '{function.name}', so its 'job' has no effect",
                "run the function with the step 'enqueue', or remove 'job'", severity="warning",
            )  # fmt: skip
