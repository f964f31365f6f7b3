"""The table of the provider's own tools."""

import pytest

from mockserver.wire.responses import KINDS, Kind, kind_of
from tests.formats.answers import used


def test_unknown_kinds_get_a_plain_row() -> None:
    assert kind_of("something_new") == Kind("it")
    assert kind_of("web_search_call") is KINDS["web_search_call"]


def test_prefixes_differ() -> None:
    assert len({kind.prefix for kind in KINDS.values()}) == len(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_rows_speak_of_their_own_keys(name: str) -> None:
    kind = KINDS[name]
    assert set(kind.blank) <= {*used(name).body, "status"}
    assert all(include.startswith(f"{name}.") for include in kind.shown.values())
