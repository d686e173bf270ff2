"""The features that a workspace may switch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FEATURES: Final[Mapping[str, bool]] = {"restChannels": True}
"""Features that can be switched, with their defaults."""
