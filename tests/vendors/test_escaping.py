"""Text from outside adds no markup to what a vendor shows: HTML of products, markup of chats."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vendors.scenario import vendors
from tests.vendors.stand_in import StandIn

OUTSIDE = "<!channel> & <https://evil.example|a> </b><script>"


@pytest.mark.parametrize(("step", "path", "expected"), [
    ("teamChat.sendMessage: { channel: c, text: '*${ input.a }* <@U1> ${ input.a }' }", ["text"],
     ("*&lt;!channel&gt; &amp; &lt;https://evil.example|a&gt; &lt;/b&gt;&lt;script&gt;* <@U1> "
     "&lt;!channel&gt; &amp; &lt;https://evil.example|a&gt; &lt;/b&gt;&lt;script&gt;")),
    ("teamChat.sendMessage: { channel: c, text: '${ input.a }' }", ["text"],
     "&lt;!channel&gt; &amp; &lt;https://evil.example|a&gt; &lt;/b&gt;&lt;script&gt;"),
    ("teamChat.sendMessage: { channel: c, text: '${ 1 + 1 } <!here>' }", ["text"], "2 <!here>"),
    ("teamChat.sendMessage: { channel: '${ input.a }', text: a }", ["channel"], OUTSIDE),
    ("store.createProduct: { title: t, description: '<b>${ input.a }</b>' }",
     ["product", "body_html"],
     "<b>&lt;!channel&gt; &amp; &lt;https://evil.example|a&gt; &lt;/b&gt;&lt;script&gt;</b>"),
])  # fmt: skip
def test_text_from_outside_is_escaped_in_markup(
    tmp_path: Path, step: str, path: list[str], expected: str
) -> None:
    vendor = vendors()[step.partition(".")[0]]
    scenario = next(one for one in vendor.scenarios if one.name == step.partition(":")[0])
    function = f"input: {{ a: string }}\nsteps:\n  - {step}\n  - return: {{ value: done }}\n"
    with StandIn(*scenario.answers) as there:
        reply = vendor.asked(tmp_path, function, there.url).ask({"a": OUTSIDE})
    assert reply.status == 200, reply.body
    found = there.asked[0].body
    for name in path:
        found = found[name]
    assert found == expected
