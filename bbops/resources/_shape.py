"""The shapes that resources declare; see `bbops.shape`."""

from __future__ import annotations

from bbops.shape import (
    TYPES,
    USUAL_TYPES,
    Field,
    FieldName,
    Shape,
    check_pattern,
    check_type,
    shape_spec,
    shape_types,
)

__all__ = [
    "TYPES", "USUAL_TYPES", "Field", "FieldName", "Shape", "check_pattern", "check_type",
    "shape_spec", "shape_types",
]  # fmt: skip
