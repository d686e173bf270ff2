"""YAML that nothing reads: an error where a change adds it, a warning where it was there before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from bbops.base.diagnostics import Diagnostic
from bbops.language.loading.load import STRAY


def keep_known_folders(
    found: tuple[Diagnostic, ...], find_before: Callable[[], Iterable[Diagnostic]]
) -> tuple[Diagnostic, ...]:
    """Return what reading a tree found, with a warning for each stray folder that it had before.

    Args:
        found: what is found now.
        find_before: returns what is found in what was accepted before.
    """
    if not any(is_stray(one) for one in found):
        return found
    known = {_top(one) for one in find_before() if is_stray(one)}
    return tuple(
        replace(one, severity="warning") if is_stray(one) and _top(one) in known else one
        for one in found
    )


def is_stray(one: Diagnostic) -> bool:
    """Return whether a finding is about YAML that lies outside of the folders of resources."""
    return one.code == STRAY or (one.code == "file-name" and "/" not in one.place.file)


def _top(one: Diagnostic) -> str:
    return one.place.file.partition("/")[0]
