"""The control plane's cookies are hidden from projects, which may live on the same host."""

from __future__ import annotations

import pytest

from bbops.runtime.http.headers import hide_cookies, set_headers
from bbops.runtime.values.failures import Failure


@pytest.mark.parametrize(("given", "seen"), [
    ("a=1; bbops=bbs_x; b=2", "a=1; b=2"), ("bbops=bbs_x", ""), ("__Host-bbops=x;a=1", "a=1"),
    ("BBOPS-visit=x; bbopsy=1", "bbopsy=1"), ("a=bbops=1", "a=bbops=1"), ("a=1", "a=1"),
    ("bbops =x", ""),
])  # fmt: skip
def test_a_flow_never_sees_them(given: str, seen: str) -> None:
    assert hide_cookies(given) == seen


@pytest.mark.parametrize("name", ["bbops", "__Host-bbops", "bbops-visit", "Bbops", " bbops"])
def test_a_flow_never_sets_them(name: str) -> None:
    with pytest.raises(Failure, match="control plane"):
        set_headers({"Set-Cookie": f"{name}=x; Path=/"})
    assert set_headers({"Set-Cookie": "mine=bbops=1"})
