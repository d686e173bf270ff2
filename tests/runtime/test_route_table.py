"""Routes: precedence, backtracking, 404 and 405, and how paths are decoded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.runtime.http.routes import RouteTable


def table(*routes: str) -> RouteTable[str]:
    """Return a table whose targets are the routes as written, such as `GET /a/:b`."""
    split = [route.split(" ", 1) for route in routes]
    return RouteTable((method, path, f"{method} {path}") for method, path in split)


def test_a_static_route_is_found() -> None:
    assert table("GET /a/b").match("GET", "/a/b") == ("GET /a/b", {})
    assert table("GET /").match("GET", "/") == ("GET /", {})


def test_parameters_are_given_by_name() -> None:
    assert table("GET /a/:x/b/:y").match("GET", "/a/1/b/2") == (
        "GET /a/:x/b/:y",
        {"x": "1", "y": "2"},
    )


@pytest.mark.parametrize("routes", [("GET /a/:x", "GET /a/new"), ("GET /a/new", "GET /a/:x")])
def test_a_literal_beats_a_parameter_in_any_order(routes: tuple[str, str]) -> None:
    assert table(*routes).match("GET", "/a/new") == ("GET /a/new", {})
    assert table(*routes).match("GET", "/a/old") == ("GET /a/:x", {"x": "old"})


def test_a_literal_that_leads_nowhere_is_left_again() -> None:
    routes = table("GET /a/b/:y/k", "GET /a/:x/c/d")
    assert routes.match("GET", "/a/b/c/d") == ("GET /a/:x/c/d", {"x": "b"})
    assert routes.match("GET", "/a/b/c/k") == ("GET /a/b/:y/k", {"y": "c"})


def test_a_method_may_come_from_the_parameter_route() -> None:
    routes = table("GET /users/me", "POST /users/:id")
    assert routes.match("POST", "/users/me") == ("POST /users/:id", {"id": "me"})


def test_a_parameter_may_have_another_name_for_another_method() -> None:
    routes = table("GET /users/:id", "DELETE /users/:user/", "PUT /users/:uid")
    assert routes.match("GET", "/users/7") == ("GET /users/:id", {"id": "7"})
    assert routes.match("PUT", "/users/7") == ("PUT /users/:uid", {"uid": "7"})


def test_another_method_lists_all_that_are_allowed() -> None:
    routes = table("GET /users/me", "POST /users/:id", "PUT /users/:uid", "PATCH /users/:id/x")
    assert routes.match("DELETE", "/users/me") == (
        None,
        ("GET", "HEAD", "OPTIONS", "POST", "PUT"),
    )
    assert routes.match("GET", "/users/7") == (None, ("OPTIONS", "POST", "PUT"))
    assert routes.match("OPTIONS", "/users/7") == (None, ("OPTIONS", "POST", "PUT"))


def test_an_unknown_path_allows_nothing() -> None:
    routes = table("GET /a", "GET /b/:x")
    for path in ("/", "", "*", "a", "/c", "/b", "/b/1/2", "//a"):
        assert routes.match("GET", path) == (None, ())


def test_a_final_slash_is_another_path() -> None:
    routes = table("GET /a", "GET /b/:x", "GET /c/")
    for path in ("/a/", "/b/1/", "/c"):
        assert routes.match("GET", path) == (None, ())
    assert routes.match("GET", "/c/") == ("GET /c/", {})


def test_a_parameter_is_never_empty() -> None:
    assert table("GET /a/:x").match("GET", "/a/") == (None, ())
    assert table("GET /:x/a").match("GET", "//a") == (None, ())


def test_get_answers_head_unless_head_has_a_route() -> None:
    assert table("GET /a").match("HEAD", "/a") == ("GET /a", {})
    assert table("GET /a/:x").match("HEAD", "/a/1") == ("GET /a/:x", {"x": "1"})
    for routes in (("HEAD /a", "GET /a"), ("GET /a", "HEAD /a")):
        assert table(*routes).match("HEAD", "/a") == ("HEAD /a", {})


def test_a_route_of_its_own_answers_options() -> None:
    assert table("OPTIONS /a", "GET /a").match("OPTIONS", "/a") == ("OPTIONS /a", {})


def test_parameters_are_decoded_one_by_one() -> None:
    routes = table("GET /f/:name")
    assert routes.match("GET", "/f/a%2Fb%20c") == ("GET /f/:name", {"name": "a/b c"})
    assert routes.match("GET", "/f/%C3%A9") == ("GET /f/:name", {"name": "é"})
    assert routes.match("GET", "/f/100%25") == ("GET /f/:name", {"name": "100%"})
    assert routes.match("GET", "/f/a+b") == ("GET /f/:name", {"name": "a+b"})


def test_an_encoded_slash_does_not_split_a_segment() -> None:
    assert table("GET /a/b").match("GET", "/a%2Fb") == (None, ())


def test_literals_are_found_however_they_are_encoded() -> None:
    assert table("GET /abc").match("GET", "/%61bc") == ("GET /abc", {})
    assert table("GET /é/:x").match("GET", "/%C3%A9/1") == ("GET /é/:x", {"x": "1"})


def test_text_that_is_not_utf_8_matches_nothing() -> None:
    assert table("GET /f/:name").match("GET", "/f/%FF") == (None, ())


def test_two_routes_for_the_same_requests_are_refused() -> None:
    with pytest.raises(ValueError, match=r"two routes answer GET '/a/:y'"):
        table("GET /a/:x", "GET /a/:y")


def test_parameters_of_a_static_route_are_not_shared() -> None:
    routes = table("GET /a")
    _, first = routes.match("GET", "/a")
    assert isinstance(first, dict)
    first["x"] = "1"
    assert routes.match("GET", "/a") == ("GET /a", {})


def test_a_long_path_is_no_deep_recursion() -> None:
    routes = table("GET " + "/:x" * 3_000, "GET /a")
    target, params = routes.match("GET", "/y" * 3_000)
    assert target is not None
    assert params == {"x": "y"}


def test_twenty_thousand_routes_are_searched_by_their_depth() -> None:
    routes = table(*(f"GET /r{n}/:id" for n in range(20_000)))
    assert routes.match("GET", "/r19999/7") == ("GET /r19999/:id", {"id": "7"})


segments = st.sampled_from(["a", "b", ":x", ":y"])
patterns = st.lists(segments, min_size=1, max_size=4)


def fits(pattern: list[str], path: list[str]) -> bool:
    return len(pattern) == len(path) and all(
        part[0] == ":" or part == given for part, given in zip(pattern, path, strict=True)
    )


@given(
    st.lists(
        patterns, max_size=12, unique_by=lambda p: tuple(s[0] + s[1:] * (s[0] != ":") for s in p)
    ),
    st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4),
)
def test_the_table_agrees_with_trying_every_route(routes: list[list[str]], path: list[str]) -> None:
    fitting = [route for route in routes if fits(route, path)]
    best = min(fitting, key=lambda route: [part[0] == ":" for part in route], default=None)
    target, _ = table(*(f"GET /{'/'.join(route)}" for route in routes)).match(
        "GET", "/" + "/".join(path)
    )
    assert target == (f"GET /{'/'.join(best)}" if best else None)
