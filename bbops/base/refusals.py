"""The reason of a refused request as a line of text, in the same words for pages and commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def summarize_refusal(refusal: Mapping[str, Any] | None) -> str:
    """Return code, message and fields at fault; empty without a refusal.

    Args:
        refusal: the `refusal` of a request in the history, see `bbops.runtime.http.errors`.
    """
    if not refusal:
        return ""
    fields = "; ".join(f"{name}: {', '.join(texts)}" for name, texts in refusal["fields"].items())
    message = f": {refusal['message']}" if refusal["message"] else ""
    return f"{refusal['code']}{message}" + (f" ({fields})" if fields else "")
