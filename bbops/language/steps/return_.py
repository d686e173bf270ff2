"""return: end the function with a value, a status and headers."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainValidator, SerializeAsAny, model_validator
from pydantic_core import PydanticCustomError

from bbops.base.model import Model
from bbops.language.expressions.emit import load
from bbops.language.expressions.types import ANY, NULL, TEXT, Type, fits, list_of, map_of
from bbops.language.expressions.values import Constant, Expression, Value, ValueField
from bbops.language.steps._base import Checking, Example, Step, read_step
from bbops.language.steps._flow import Flow
from bbops.runtime.values import file_types
from bbops.source.yaml.document import Mark


class ReturnParameters(Model):
    """The answer; without `value` or `file` its body is empty."""

    status: ValueField = Constant(200)
    value: ValueField | None = None
    file: ValueField | None = None
    stream: Annotated[SerializeAsAny[Step], PlainValidator(read_step)] | None = None
    from_: Annotated[
        Literal["localStorage"] | None,
        Field(alias="from", description="where `file` is, if it is not a file of this run"),
    ] = None
    headers: ValueField | None = None
    content_type: ValueField | None = None

    @model_validator(mode="before")
    @classmethod
    def read_short_value(cls, data: Any) -> Any:
        """Read `${ x }` as `{ value: ${ x } }`."""
        if isinstance(data, str) and "${" in data:
            return {"value": data}
        if isinstance(data, dict) or data is None:
            return data
        hint = (
            "write 'return: { value: … }'"
            if not isinstance(data, str)
            else (f"write 'return: {{ value: {data} }}', or 'return: ${{ … }}' for an expression")
        )
        message = "'return' takes a map, or one '${ … }'"
        raise PydanticCustomError("bad_value", message, {"hint": hint})


class Return(Step):
    """Answer with `value` as JSON, as text where `contentType` is another type, or with a `file`.

    - Without `value` the body is empty. 204 and 304 never have one.
    - `return: ${ x }` is short for `return: { value: ${ x } }`.
    - `file` answers with a file of the request, by the `path` that it has in `input`, or that a
      step wrote. Files outside of the request's folder do not count. Its type is found out by
      name and content where `contentType` does not say it; HTML, SVG, XML and scripts, which a
      browser would run, need it said. A GET may ask for a part of it.
    - With `from: localStorage`, `file` is the path of a file that the addon keeps. Such an answer
      has an `etag`; a missing file is 404.
    - `contentType` may be an expression, such as `${ vars.row.type }`; a text that is not a media
      type gets 400. If it is HTML or SVG, the value is escaped as with `contentType: text/html`. A
      file or `binary` value whose computed type a browser would run is sent as
      `application/octet-stream`.
    - A `value` of type `binary` with a `contentType` is sent as the bytes that it is.
    - `stream` answers with what a step of a model gives, piece by piece, as server-sent events:
      `text` with `{ text }` as the vendor sends them, and at the end `done` with the value that the
      step would have returned, or `error` with `{ code, message, requestId }`. An error before
      the vendor answers is an ordinary error with its status. `retry` and `timeout` are keys
      beside that step: the time is for all pieces, and the endpoint's own time counts, too. Only
      functions that endpoints alone run can do this.
    - Steps behind it never run, which is a warning.
    """

    title: ClassVar[str] = "Return"
    waits: ClassVar[bool] = False
    fits_transaction: ClassVar[bool] = True
    leaves: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Answer with a new resource",
            "- return:\n    status: 201\n    value:\n      hello: ${ input.name }",
            input={"name": "Ada"},
            status=201,
            value={"hello": "Ada"},
        ),
        Example(
            "Answer with one value",
            "- find: { table: notes, select: [title], orderBy: id, limit: 1 }\n"
            "  as: notes\n"
            "- return: ${ vars.notes }",
            value=[{"title": "one"}],
        ),
    )

    return_: ReturnParameters = Field(alias="return")

    def place(self, key: str) -> Mark | None:
        """Return the place of a parameter; the short form has only the value."""
        found = super().place(key)
        return super().place("return") if found is None and key == "value" else found

    def check(self, at: Checking) -> Type:
        answer = self.return_
        status = at.value(answer.status)
        if not _is_status(answer.status) or not fits(status, "integer"):
            at.report(self.place("status"), "status", "a status is a whole number from 200 to 599")
        else:
            at.refuse_null(answer.status, status, "'status'", self.place("status"))
        if answer.stream is not None:
            self.check_stream(at, answer.stream)
        elif answer.file is not None:
            self.check_file(at, answer.file)
        else:
            self.check_value(at)
            if answer.from_ is not None:
                message, hint = "'from' says where a 'file' is, and there is none", "remove it"
                at.report(self.place("from"), "bad-value", message, hint)
        at.headers(answer.headers, "this answer's headers")
        self.check_type(at, answer.content_type)
        at.ends()
        return NULL

    def check_type(self, at: Checking, content_type: Value | None) -> None:
        """Report a content type that is not a text, may be null, or cannot be sent."""
        if content_type is None:
            return
        place = self.place("contentType")
        at.need(content_type, "text", "'contentType'", place)
        if not isinstance(content_type, Constant) or not isinstance(content_type.value, str):
            return
        if not file_types.is_content_type(content_type.value):
            message = f"expected a content type such as 'text/html', got '{content_type.value}'"
            at.report(place, "bad-value", message)

    def check_stream(self, at: Checking, step: Step) -> None:
        """Check a stream, which is not a value: it begins here, and ends after the function."""
        at.notes.gives.append(_EVENTS)
        at.notes.leaves.append(at.scope.known.copy())
        for name in sorted(self.return_.model_fields_set - {"stream", "headers"}):
            key = _KEYS.get(name, name)
            message = f"a response with a 'stream' has no '{key}'"
            at.report(self.key_place(key) or self.place(key), "bad-value", message, "remove it")
        if step.as_ is not None:
            message, hint = "a stream goes to the client, not into a variable", "remove 'as'"
            at.report(step.place("as"), "bad-value", message, hint)
        if at.why_whole:
            at.report(
                step.mark, "stream-place",
                f"only a function that endpoints alone run answers with a 'stream': {at.why_whole}",
                "return the step's result as a 'value'",
            )  # fmt: skip
        if not step.is_streamed():
            at.report(
                step.mark, "not-streamed", f"'{step.key}' does not answer piece by piece",
                f"return its result as a 'value'; these steps do: {', '.join(_STREAMED)}",
            )  # fmt: skip
        step.check(replace(at, step=step.mark or at.step))

    def check_file(self, at: Checking, file: Value) -> None:
        """Check a file, which is not a value: it goes to a client, and nowhere else."""
        at.notes.gives.append(NULL)
        at.notes.leaves.append(at.scope.known.copy())
        at.fit(file, at.value(file), "text", "'file'", self.place("file"))
        if "value" in self.return_.model_fields_set:
            at.report(self.place("file"), "bad-value", "a response is either a 'value' or a 'file'")
        if not at.answers:
            message, hint = (
                "this function is only called by others, so it sends no response",
                "return its path",
            )
            at.report(self.place("file"), "bad-value", message, hint)

    def check_value(self, at: Checking) -> None:
        """Check a value, which a function that is only called returns to other functions."""
        value = self.return_.value
        if value is None or "value" not in self.return_.model_fields_set:
            at.notes.gives.append(NULL)
            at.notes.leaves.append(at.scope.known.copy())
            return
        self.check_body(at, value)
        found = at.public(value, "this answer") if at.answers else at.value(value)
        at.notes.gives.append(found)
        if self.return_.content_type is not None:
            at.fit(value, found, _WRITTEN, "another content type than JSON", self.place("value"))

    def check_body(self, at: Checking, value: Value) -> None:
        """Warn of a value that is never sent: the answer has no body."""
        status = self.return_.status.value if isinstance(self.return_.status, Constant) else None
        if status in _EMPTY and not (isinstance(value, Constant) and value.value is None):
            message = f"an answer of {status} has no body, so its value would not be sent"
            hint = "remove 'value', or use status 200"
            at.report(self.place("value"), "no-content", message, hint)

    def blocks(self) -> Sequence[Sequence[Step]]:
        return () if self.return_.stream is None else ((self.return_.stream,),)

    def code(self, flow: Flow) -> list[ast.stmt]:
        answer = self.return_
        if answer.stream is not None:
            found = flow.temporary()
            begun = answer.stream.stream_code(flow, found)
            headers, sent = flow.value(answer.headers), ast.Constant("text/event-stream")
            given = flow.run(
                f"return (200, {found}, headers, sent)", headers=headers, sent=sent
            )  # fmt: skip
            return [*begun, *given]
        if answer.file is not None:
            return self.file_code(flow, answer.file)
        kind, begun = self.type_code(flow, "file_type" if self.is_bytes(flow) else "written_type")
        value = flow.use("bbops.runtime.values.failures:NOTHING")
        if "value" in answer.model_fields_set:  # null is a value too
            value = self.written(flow, kind)
        given = flow.run(
            "return (status, value, headers, contentType)",
            status=flow.value(answer.status),
            value=value,
            headers=flow.value(answer.headers),
            contentType=load(kind) if kind else ast.Constant(_with_charset(self.fixed_type)),
        )
        return [*begun, *given]

    @property
    def fixed_type(self) -> str | None:
        """The constant content type; None without one, or for an expression."""
        said = self.return_.content_type
        return str(said.value) if isinstance(said, Constant) else None

    def is_bytes(self, flow: Flow) -> bool:
        """Return whether the value is of type binary."""
        value = self.return_.value
        return isinstance(value, Expression) and flow.type_of(value).kind == "binary"

    def type_code(self, flow: Flow, read: str) -> tuple[str, list[ast.stmt]]:
        """Return the name of a computed content type, with its code; empty for a constant.

        Args:
            read: the function of `bbops.runtime.values.file_types` that checks it.
        """
        said = self.return_.content_type
        if said is None or isinstance(said, Constant):
            return "", []
        name = flow.temporary()
        code = flow.run(
            f"{name} = read(said)", read=f"bbops.runtime.values.file_types:{read}",
            said=flow.value(said),
        )  # fmt: skip
        return name, code

    def file_code(self, flow: Flow, file: Value) -> list[ast.stmt]:
        """Return the code that answers with a file, which is looked up at this line."""
        kind, begun = self.type_code(flow, "file_type")
        said = load(kind) if kind else ast.Constant(self.fixed_type)
        return [*begun, *self.found_code(flow, file, said)]

    def found_code(self, flow: Flow, file: Value, said: ast.expr) -> list[ast.stmt]:
        """Return the code that finds a file, whose content type is `said`, and answers with it."""
        answer, found = self.return_, flow.temporary()
        if answer.from_ is not None:
            return flow.run(
                "return await answer(run, status, path, headers, contentType)",
                answer="bbops.runtime.http.stored_answers:answer_stored",
                path=flow.value(file),
                status=flow.value(answer.status), headers=flow.value(answer.headers),
                contentType=said,
            )  # fmt: skip
        return flow.run(
            f"{found} = await find(folder, path, contentType)\n"
            f"return (status, {found}, headers, {found}.type)",
            find="bbops.runtime.http.file_answers:find_file",
            folder=flow.root("folder"), path=flow.value(file),
            status=flow.value(answer.status), headers=flow.value(answer.headers),
            contentType=said,
        )  # fmt: skip

    def written(self, flow: Flow, kind: str) -> ast.expr:
        """Return the code of the value; into markup, text from outside is escaped.

        Args:
            kind: the name of a computed content type; empty without one.
        """
        answer = self.return_
        if answer.value is None or answer.content_type is None:
            return flow.value(answer.value)
        if self.is_bytes(flow):
            return flow.value(answer.value)
        if kind:
            asked = flow.expression(
                f"is_markup({kind})", is_markup="bbops.runtime.values.file_types:is_markup"
            )
            return ast.IfExp(asked, flow.html(answer.value), flow.value(answer.value))
        is_markup = self.fixed_type is not None and file_types.is_markup(self.fixed_type)
        return flow.html(answer.value) if is_markup else flow.value(answer.value)


_STREAMED = ("aiModel.chatCompletion", "chatModel.createMessage")
_EVENTS = list_of(map_of({"event": TEXT, "data": ANY}, "the event"))
"""The value of a stream in a test."""
_KEYS = {"from_": "from", "content_type": "contentType"}
_EMPTY = frozenset({204, 304})
_WRITTEN = "text number boolean datetime date binary"


def _with_charset(content_type: str | None) -> str | None:
    return None if content_type is None else file_types.with_charset(content_type)


def _is_status(status: object) -> bool:
    if not isinstance(status, Constant):
        return True
    return type(status.value) is int and 200 <= status.value <= 599
