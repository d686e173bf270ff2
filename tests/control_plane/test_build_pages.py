"""The Build pages: endpoints, functions, tables, channels, values and addons."""
from __future__ import annotations
import re
from tests.support.control import Tried, tried
__all__ = ["tried"]
from tests.conftest import ROOT
def test_all(tried: Tried) -> None:
    tried.source.files = tried.source.draft_files = ROOT / "tests/samples/saas"
    browser = tried.as_person("ada@example.com")
    todo, seen = ["/projects/small/" + p for p in ("endpoints","functions","tables","channels","values","addons")], set()
    while todo:
        path = todo.pop(0)
        if path in seen: continue
        seen.add(path)
        answer = browser.get(path)
        if answer.status_code != 200: print(path, answer.status_code, answer.text[-1500:]); assert 0
        for href in re.findall(r'href="(/projects/small/[^"#]+)', answer.text):
            href = href.replace("&amp;","&")
            if href not in seen and re.match(r"/projects/small/(endpoints|functions|tables|channels|values|addons|files)", href): todo.append(href)
    print(len(seen))
