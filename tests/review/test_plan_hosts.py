"""Which servers a project reaches is told by its files, also where a variable names them."""

from __future__ import annotations

import pytest

from bbops.review.plan.hosts import find_hosts
from tests.conftest import with_function
from tests.support.planning import project


@pytest.mark.parametrize(
    ("url", "hosts", "variables"),
    [
        ("https://api.example.com/things", ("api.example.com:443",), ()),
        ("https://api.example.com:8443", ("api.example.com:8443",), ()),
        ("http://api.example.com/${ input.id }", ("api.example.com:80",), ()),
        ("${ env.GREETING }/things", (), ("GREETING",)),
        ("${ env['GREETING'] }", (), ("GREETING",)),
        ("https://${ env.GREETING }/things", (), ("GREETING:443",)),
        ("https://${ env.GREETING }:8443/things", (), ("GREETING:8443",)),
        ("${ env.GREETING }:8443/things", (), ("GREETING:8443",)),
        ("http://${ env.GREETING }", (), ("GREETING:80",)),
        ("https://${ env.GREETING }.example.com/", (), ()),
        ("https://${ env.GREETING }${ input.id }", (), ()),
        ("https://${ input.id }.example.com/", (), ()),
    ],
)
def test_a_server_is_known_by_its_name_or_by_the_variable_that_names_it(
    url: str, hosts: tuple[str, ...], variables: tuple[str, ...]
) -> None:
    step = f'input: {{ id: text }}\nsteps:\n  - http: {{ url: "{url}" }}\n'
    found = find_hosts(project(with_function(step)))
    assert (found.hosts, found.variables) == (hosts, variables)
