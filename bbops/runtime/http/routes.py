"""Find the target of a request's method and path; the cost does not grow with the routes.

`/posts/new` beats `/posts/:id`, whatever their order; where the literal branch ends without the
method, the parameter's branch is tried.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import unquote_to_bytes

Target = TypeVar("Target")
Params = dict[str, str]


@dataclass(slots=True)
class _Node(Generic[Target]):
    children: dict[str, _Node[Target]] = field(default_factory=dict)
    parameter: _Node[Target] | None = None
    methods: dict[str, tuple[Target, tuple[str, ...]]] = field(default_factory=dict)


class RouteTable(Generic[Target]):
    """The routes of one release. Never changed once it answers; safe to share between threads."""

    __slots__ = ("_root", "_static")

    def __init__(self, routes: Iterable[tuple[str, str, Target]] = ()) -> None:
        """Take (method, path, target) triples, see `add`."""
        self._static: dict[str, dict[str, tuple[Target, tuple[str, ...]]]] = {}
        self._root: _Node[Target] = _Node()
        for method, path, target in routes:
            self.add(method, path, target)

    def add(self, method: str, path: str, target: Target) -> None:
        """Add a route; a path is `/` and segments, `:name` a parameter. GET answers HEAD too.

        Raises:
            ValueError: two routes answer the same requests.
        """
        node, names = self._place(path)
        answered = node.methods
        heads_by_get = method == "HEAD" and answered.get("HEAD") is answered.get("GET")
        if method in answered and not heads_by_get:
            raise ValueError(f"two routes answer {method} '{path}'")
        answered[method] = (target, names)
        if method == "GET":
            answered.setdefault("HEAD", answered["GET"])
        if not names:
            self._static[path] = answered

    def match(self, method: str, path: str) -> tuple[Target, Params] | tuple[None, tuple[str, ...]]:
        """Return the target and its parameters, or None and the methods the path does allow.

        `path` is the raw path, still percent-encoded. No methods means there is no such path.
        GET answers HEAD too. OPTIONS is always listed, but only matches a route of its own.
        """
        static = self._static.get(path)
        if static is not None and method in static:
            return static[method][0], {}
        segments = _segments(path)
        if segments is None:
            return None, ()
        found = _walk(self._root, segments, method)
        if found is not None:
            return found
        allowed: set[str] = set()
        found = _find(self._root, segments, method, allowed)
        if found is not None:
            return found
        return None, tuple(sorted(allowed | {"OPTIONS"})) if allowed else ()

    def _place(self, path: str) -> tuple[_Node[Target], tuple[str, ...]]:
        node, names = self._root, []
        for segment in path.split("/")[1:]:
            if segment.startswith(":"):
                names.append(segment[1:])
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.children.setdefault(segment, _Node())
        return node, tuple(names)


def _walk(root: _Node[Target], segments: list[str], method: str) -> tuple[Target, Params] | None:
    """Return the route that is reached without turning back: the first one `_find` would look at.

    That is nearly every request, and costs half of what `_find` does.
    """
    node, values = root, []
    for segment in segments:
        child = node.children.get(segment)
        if child is None:
            child = node.parameter
            if child is None or not segment:
                return None
            values.append(segment)
        node = child
    found = node.methods.get(method)
    if found is None:
        return None
    target, names = found
    if len(values) == 1:
        return target, {names[0]: values[0]}
    return target, dict(zip(names, values, strict=True))


def _find(
    root: _Node[Target], segments: list[str], method: str, allowed: set[str]
) -> tuple[Target, Params] | None:
    """Return the first route in the order of precedence; adds what its rivals allow.

    Each node of the tree is visited at most once.
    """
    todo: list[tuple[_Node[Target], int, tuple[str, ...]]] = [(root, 0, ())]
    while todo:
        node, depth, values = todo.pop()
        if depth == len(segments):
            if method in node.methods:
                target, names = node.methods[method]
                return target, dict(zip(names, values, strict=True))
            allowed.update(node.methods)
            continue
        segment = segments[depth]
        if node.parameter is not None and segment:
            todo.append((node.parameter, depth + 1, (*values, segment)))
        child = node.children.get(segment)
        if child is not None:  # pushed last, so looked at first
            todo.append((child, depth + 1, values))
    return None


def _segments(path: str) -> list[str] | None:
    """Return the path's segments decoded one by one, or None when it is no path in UTF-8."""
    if not path.startswith("/"):
        return None
    segments = path.split("/")[1:]
    if "%" not in path:
        return segments
    try:
        return [unquote_to_bytes(segment).decode() for segment in segments]
    except UnicodeDecodeError:
        return None
