"""Find routes of a table that reach other rows than before, by `match` or `owner`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bbops.language.expressions.values import Expression
from bbops.language.project import Project, Resource, Route
from bbops.language.resources._crud import Crud
from bbops.review.plan.finding import Finding, finding
from bbops.review.plan.pairs import Pairs, title


def find_loosened_matches(pairs: Pairs) -> Iterator[Finding]:
    """Yield routes that reach more rows than before."""
    for route, crud, old, new in _changed(pairs):
        for column in [name for name in old if new.get(name) != old[name]]:
            now = f"{column} == {new[column]}" if column in new else f"any '{column}'"
            message = f"reaches rows with {now}; it was {column} == {old[column]}"
            yield finding("match-loosened", title(route), message, crud.place(_key(crud)))


def find_tightened_matches(pairs: Pairs) -> Iterator[Finding]:
    """Yield routes that reach fewer rows than before."""
    for route, crud, old, new in _changed(pairs):
        for column in new.keys() - old.keys():
            message = f"only reaches rows with {column} == {new[column]}"
            yield finding("match-tightened", title(route), message, crud.place(_key(crud)))


def _changed(
    pairs: Pairs,
) -> Iterator[tuple[Route, Resource[Crud], Mapping[str, str], Mapping[str, str]]]:
    for pair in pairs.routes:
        if pair.base is None or pair.head is None:
            continue
        old, new = _made_of(pairs.base, pair.base), _made_of(pairs.head, pair.head)
        if old is not None and new is not None and old.blob != new.blob:
            yield pair.head, new, _matches(old.model), _matches(new.model)


def _made_of(project: Project, route: Route) -> Resource[Crud] | None:
    """Return the file about a table that made the function of a route; None for other routes."""
    crud = project.cruds.get(route.endpoint.name.rpartition("/")[0])
    function = project.functions.get(route.function)
    is_made = crud is not None and function is not None and function.file == crud.file
    return crud if is_made else None


def _matches(model: Crud) -> dict[str, str]:
    if model.owner is not None:
        return {model.owner: "vars.auth.userId"}
    return {
        column: value.text for column, value in model.match.items() if isinstance(value, Expression)
    }


def _key(crud: Resource[Crud]) -> str:
    return next((key for key in ("match", "owner") if key in crud.document.root), "table")
