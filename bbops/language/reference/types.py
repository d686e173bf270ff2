"""The entries of the types of columns and of fields of shapes."""

from __future__ import annotations

from typing import Final

from bbops.language.reference._entry import DatabaseDifference, Entry, Sample

_BOTH: Final = "columns and shapes"
_LENGTHS: Final = "`minLength`, `maxLength` and `enum`; in shapes also `pattern`"
_BOUNDS: Final = "`minimum`, `maximum` and `enum`"
_UUID: Final = "8e0b6c1e-0000-4000-8000-00000000000a"


def _type(
    name: str, takes: str, gives: str, summary: str, *samples: tuple[object, object],
    places: str = _BOTH, sees: str = "", keys: str = "", decimals: str = "",
    storage: tuple[str, str] | None = None, difference: DatabaseDifference | None = None,
) -> Entry:  # fmt: skip
    """Return the entry of a type; `sees` is its name in expressions."""
    said = [summary, f"It is for {places}."]
    said += [f"Expressions see it as {sees}."] if sees else []
    said += [f"Rules: {keys}."] if keys else []
    return Entry(
        "type", name, name, f"{name}: {takes} → {gives}", " ".join(said), takes, (), gives,
        decimals=decimals,
        samples=tuple(Sample(name, given, "value", found) for given, found in samples),
        storage=dict(zip(("SQLite", "PostgreSQL"), storage, strict=True)) if storage else None,
        difference=difference,
    )  # fmt: skip


TYPES: Final = (
    _type(
        "string",
        "JSON text",
        "JSON text",
        "A short text: a column without `maxLength` takes 10,000 characters.",
        ("Ada", "Ada"),
        (5, 400),
        ("a\0b", 400),
        sees="text",
        keys=_LENGTHS,
        storage=("TEXT", "text"),
    ),
    _type(
        "text",
        "JSON text",
        "JSON text",
        "A long text: a column without `maxLength` takes 100,000 characters.",
        ("Ada\nBo", "Ada\nBo"),
        (True, 400),
        ("a\0b", 400),
        sees="text",
        keys=_LENGTHS,
        storage=("TEXT", "text"),
    ),
    _type(
        "integer",
        "JSON number without a fraction",
        "JSON number",
        "A whole number of 64 bits.",
        (5, 5),
        (5.0, 5),
        (5.5, 400),
        ("5", 400),
        sees="integer",
        keys=_BOUNDS,
        storage=("INTEGER", "bigint"),
    ),
    _type(
        "bigint",
        "JSON number without a fraction",
        "JSON number",
        "The same as `integer`.",
        (9007199254740993, 9007199254740993),
        places="columns",
        sees="integer",
        keys=_BOUNDS,
        storage=("INTEGER", "bigint"),
    ),
    _type(
        "number",
        "JSON number",
        "JSON number",
        "A floating-point number of 64 bits, which holds about 15 digits exactly. Money is a "
        "`decimal`.",
        (0.5, 0.5),
        (2, 2.0),
        ("5", 400),
        sees="number",
        keys=_BOUNDS,
        storage=("REAL", "double precision"),
        difference=DatabaseDifference(
            "A result beyond 1.8e308 is an error on PostgreSQL, and infinite on SQLite, where "
            "JSON has null for it.",
            Sample("number", 1e308, "value * 10", None),
            400,
        ),
    ),
    _type(
        "decimal",
        "JSON number or text",
        "JSON text",
        "An exact number with at most 1,000 digits on either side of the point.",
        ("1.50", "1.50"),
        (9.99, "9.99"),
        (2, "2"),
        ("a", 400),
        sees="decimal",
        keys="`minimum` and `maximum`; of columns also `enum`",
        storage=("TEXT", "numeric"),
        decimals="A JSON number is read from its text, so no digit is lost. Places are kept, and "
        "do not matter in comparisons, in `unique` and in order: `1.5 == 1.50`. `+`, `-` and `*` "
        "are exact, and `divide` and `round` say how many places the result has.",
    ),
    _type(
        "boolean",
        "JSON true or false",
        "JSON true or false",
        "True or false.",
        (True, True),
        ("true", 400),
        sees="boolean",
        storage=("INTEGER", "boolean"),
    ),
    _type(
        "datetime",
        "text in ISO 8601",
        "text in ISO 8601, in UTC",
        "A moment, to the microsecond. Without an offset it is in UTC.",
        ("2026-03-05T10:00:00+02:00", "2026-03-05T08:00:00Z"),
        ("2026-03-05", "2026-03-05T00:00:00Z"),
        ("5 March", 400),
        sees="datetime",
        storage=("TEXT", "timestamp with time zone"),
    ),
    _type(
        "date",
        "text such as 2026-03-05",
        "text such as 2026-03-05",
        "A day of the calendar, the same in every zone.",
        ("2026-03-05", "2026-03-05"),
        ("2026-03-05T10:00:00Z", 400),
        sees="date",
        storage=("TEXT", "date"),
    ),
    _type(
        "time",
        "text such as 08:30 or 08:30:00.5",
        "text such as 08:30:00",
        "A time of day without a zone, in one form: `08:30` is stored and compared as `08:30:00`.",
        ("08:30", "08:30:00"),
        ("25:00", 400),
        places="columns",
        sees="text in that form",
        storage=("TEXT", "time without time zone"),
    ),
    _type(
        "uuid",
        "text of 36 characters",
        "text in lower case",
        "A UUID in one form, lower case with hyphens.",
        (_UUID.upper(), _UUID),
        ("8e0b6c1e", 400),
        sees="text in that form",
        keys="`enum`; in shapes also `minLength`, `maxLength` and `pattern`",
        storage=("TEXT", "uuid"),
    ),
    _type(
        "email",
        "JSON text",
        "JSON text",
        "A text with the form of an email address. Whether it is in use is not checked.",
        ("ada@example.com", "ada@example.com"),
        ("ada", 400),
        places="shapes",
        sees="text",
        keys="`minLength`, `maxLength`, `pattern` and `enum`",
    ),
    _type(
        "url",
        "JSON text",
        "JSON text",
        "An absolute URL with https or http.",
        ("https://example.com/a", "https://example.com/a"),
        ("/a", 400),
        places="shapes",
        sees="text",
        keys="`minLength`, `maxLength`, `pattern` and `enum`",
    ),
    _type(
        "json",
        "any JSON",
        "the same JSON",
        "Any value, with the keys of maps in their order. A field that is missing reads as null.",
        ({"b": [1, None], "a": 1.5}, {"b": [1, None], "a": 1.5}),
        sees="any, which is checked at run time",
        keys="in shapes `enum`",
        storage=("TEXT", "json"),
    ),
    _type(
        "binary",
        "text in Base64",
        "text in Base64",
        "Bytes.",
        ("QWRh", "QWRh"),
        ("?", 400),
        places="columns",
        sees="binary",
        keys="`minLength` and `maxLength`, in bytes",
        storage=("BLOB", "bytea"),
    ),
)
"""Every type, in the order of the page."""
