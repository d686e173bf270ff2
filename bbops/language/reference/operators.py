"""The entries of operators."""

from __future__ import annotations

from typing import Final

from bbops.language.reference._entry import DatabaseDifference, Entry, Sample, ValueExample

_EQUAL: Final = (
    "Values of different types are never equal, and numbers are equal by value: `1 == 1.0`. Null "
    "equals null. Lists and maps are equal if all of their members are."
)
_ORDER: Final = (
    "Numbers are ordered by value, texts by code point, datetimes and dates by time. Both sides "
    "have the same type, and neither is null."
)
_BESIDE: Final = "Beside a decimal, a number counts as it is written."
_EXACT: Final = (
    "Decimals, whole numbers and constants give an exact decimal; a number that is not a constant "
    "does not fit a decimal on columns."
)
_IN_QUERY: Final = "Runs on columns, too."
_TOO_LARGE: Final = (
    "On columns a whole number beyond 64 bits is an error on PostgreSQL, and a number that is not "
    "exact on SQLite."
)
_ADA: Final = '(\'{"name": "Ada"}\' | parseJson)'


def _order(sign: str, title: str, example: ValueExample, *, result: bool) -> Entry:
    return Entry(
        "operator", sign, title, f"number, text, datetime or date {sign} the same type → boolean",
        _ORDER, "number, text, datetime or date", (), "boolean", example, _BESIDE, (), _IN_QUERY,
        (Sample("decimal", "1.5", f"value {sign} 1.75", result),),
    )  # fmt: skip


OPERATORS: Final = (
    Entry(
        "operator", "==", "Equal", "any value == the same type → boolean", _EQUAL,
        "any value", (), "boolean", ValueExample("[1, 2.0] == [1.0, 2]", result=True), _BESIDE,
        (ValueExample("(1 | divide(4, 2)) == 0.25", result=True),),
        f"{_IN_QUERY} Times of day and UUIDs are compared in one form, `08:30:00` and lower case.",
        (Sample("time", "08:30:00", "value == '08:30'", result=True),),
    ),
    Entry(
        "operator", "!=", "Not equal", "any value != the same type → boolean",
        "The opposite of `==`.", "any value", (), "boolean",
        ValueExample("'a' != 'b'", result=True), _BESIDE, (), _IN_QUERY,
        (Sample("uuid", "8e0b6c1e-0000-4000-8000-00000000000a",
                               "value != '8E0B6C1E-0000-4000-8000-00000000000A'", result=False),),
    ),
    _order("<", "Less", ValueExample("'a' < 'b'", result=True), result=True),
    _order("<=", "Less or equal", ValueExample("2 <= 2.0", result=True), result=True),
    _order(">", "Greater", ValueExample("'a' > 'b'", result=False), result=False),
    _order(">=", "Greater or equal", ValueExample("2 >= 3", result=False), result=False),
    Entry(
        "operator", "in", "Member", "any value in list → boolean",
        "Whether a list has a member that equals the value. For a part of a text write "
        "`text | contains(part)`.",
        "any value", (), "boolean", ValueExample("2 in [1, 2]", result=True), _BESIDE,
        (ValueExample("(1 | divide(4, 2)) in [0.25]", result=True),), _IN_QUERY,
        (Sample("string", "open", "value in ['open', 'late']", result=True),),
    ),
    Entry(
        "operator", "not in", "Not a member", "any value not in list → boolean",
        "Whether no member of a list equals the value.",
        "any value", (), "boolean", ValueExample("3 not in [1, 2]", result=True), _BESIDE, (),
        _IN_QUERY, (Sample("integer", 3, "value not in [1, 2]", result=True),),
    ),
    Entry(
        "operator", "and", "And", "boolean and boolean → boolean",
        "Whether both conditions hold. The right one is evaluated only if the left one is true, "
        "and `x != null` on the left excludes null on the right.",
        "boolean", (), "boolean", ValueExample("1 < 2 and 2 < 3", result=True), "", (), _IN_QUERY,
        (Sample("integer", 5, "value > 1 and value < 9", result=True),),
    ),
    Entry(
        "operator", "or", "Or", "boolean or boolean → boolean",
        "Whether one condition holds. The right one is evaluated only if the left one is false.",
        "boolean", (), "boolean", ValueExample("1 > 2 or 2 < 3", result=True), "", (), _IN_QUERY,
        (Sample("integer", 5, "value < 1 or value < 9", result=True),),
    ),
    Entry(
        "operator", "not", "Not", "not boolean → boolean",
        "The opposite of a condition. It applies to the comparison behind it: `not a == b` is "
        "`not (a == b)`.",
        "boolean", (), "boolean", ValueExample("not 1 == 2", result=True), "", (), _IN_QUERY,
        (Sample("boolean", given=True, expression="not value", result=False),),
    ),
    Entry(
        "operator", "+", "Sum", "number, text or list + the same type → the same type",
        "The sum of two numbers, or two texts or lists one after the other.",
        "number, text or list", (), "the same type", ValueExample("'a' + 'b'", "ab"), _EXACT,
        (ValueExample("(1 | divide(4, 2)) + 1", "1.25"),), _IN_QUERY,
        (Sample("decimal", "1.50", "value + 0.005", "1.505"),),
        difference=DatabaseDifference(
            _TOO_LARGE,
            Sample("integer", 9_000_000_000_000_000_000, "value + value", 1.8e19), 400,
        ),
    ),
    Entry(
        "operator", "-", "Difference", "number or datetime - the same type → number",
        "The difference of two numbers, or of two datetimes in seconds. In front of a number: the "
        "number with the other sign.",
        "number or datetime", (), "number",
        ValueExample(
            "('2026-03-05T10:00:00Z' | toDatetime) - ('2026-03-05T09:00:00Z' | toDatetime)", 3600.0,
        ),
        _EXACT, (ValueExample("1 - (1 | divide(4, 2))", "0.75"),), _IN_QUERY,
        (Sample("decimal", "1.50", "value - 1", "0.50"),),
    ),
    Entry(
        "operator", "*", "Product", "number * number → number", "The product of two numbers.",
        "number", (), "number", ValueExample("6 * 7", 42), _EXACT,
        (ValueExample("(1 | divide(4, 2)) * 0.5", "0.125"),), _IN_QUERY,
        (Sample("decimal", "2.5", "value * 0.19", "0.475"),),
        difference=DatabaseDifference(
            _TOO_LARGE, Sample("integer", 9_000_000_000_000_000_000, "value * 2", 1.8e19), 400,
        ),
    ),
    Entry(
        "operator", "/", "Quotient", "number / number → number",
        "The quotient with its fraction; `(a / b) | floor` is a whole one. A divisor of zero is "
        "an error.",
        "number", (), "number", ValueExample("7 / 2", 3.5),
        "The quotient of decimals has 38 digits. On columns it is refused "
        "[decimal-division]: `total | divide(3, 2)` has the places that it says.",
        (ValueExample("(1 | divide(4, 2)) / 2", "0.125"),), _IN_QUERY,
        (Sample("integer", 7, "value / 2", 3.5),),
    ),
    Entry(
        "operator", "%", "Remainder", "number % number → number",
        "The remainder of a division, with the sign of the left side. A divisor of zero is an "
        "error.",
        "number", (), "number", ValueExample("-7 % 3", -1), "", (), _IN_QUERY,
        (Sample("integer", -7, "value % 3", -1),),
    ),
    Entry(
        "operator", "if", "Choice", "a if boolean else b → a or b",
        "The first value if the condition holds, the other one if not. Only the chosen one is "
        "evaluated.",
        "boolean", (), "a or b", ValueExample("'few' if 2 < 3 else 'many'", "few"), "", (),
        _IN_QUERY, (Sample("integer", 5, "'low' if value < 9 else 'high'", "low"),),
    ),
    Entry(
        "operator", ".", "Field", "map.name → a field",
        "A field of a map, a column of a row, or the row that a relation leads to. Of null it is "
        "an error; a field that a `json` value lacks is null.",
        "map", (), "a field", ValueExample(f"{_ADA}.name", "Ada"),
    ),
    Entry(
        "operator", "?.", "Field or null", "map or null?.name → a field or null",
        "A field of a map, and null if there is no map.",
        "map or null", (), "a field or null", ValueExample("('null' | parseJson)?.name", None),
    ),
    Entry(
        "operator", "[]", "Member by place or key", "list[integer] or map[text] → a member or null",
        "A member of a list by its place, from 0 on or backwards from -1, or of a map by its key; "
        "null if there is none.",
        "list or map", (), "a member or null", ValueExample("['a', 'b'][-1]", "b"),
    ),
    Entry(
        "operator", "|", "Filter", "value | filter(arguments) → the filter's type",
        "Another value, made by a filter. It binds tighter than arithmetic: "
        "`(1 + 2) | toString`.",
        "any value", (), "the filter's type", ValueExample("'Ada' | upper | length", 3),
    ),
    Entry(
        "operator", "=>", "Arrow function", "member => value, or (member, place) => value",
        "An argument of a filter of lists: a value for each member, and its place "
        "from 0 on. Each call counts as a loop iteration.",
        "a member", (), "any value", ValueExample("[5, 6] | map((n, i) => n * i)", [0, 6]),
    ),
)  # fmt: skip
"""Every operator, in the order of the page."""
