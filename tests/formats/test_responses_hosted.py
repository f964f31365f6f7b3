"""The table of the provider's own tools."""

import pytest

from mockserver.wire.responses import ITEM_KINDS, ItemKind, item_kind
from tests.formats.answers import used


def test_unknown_kinds_get_a_plain_row() -> None:
    assert item_kind("something_new") == ItemKind("it")
    assert item_kind("web_search_call") is ITEM_KINDS["web_search_call"]


def test_prefixes_differ() -> None:
    assert len({kind.prefix for kind in ITEM_KINDS.values()}) == len(ITEM_KINDS)


@pytest.mark.parametrize("name", ITEM_KINDS)
def test_rows_speak_of_their_own_keys(name: str) -> None:
    kind = ITEM_KINDS[name]
    assert set(kind.blank) <= {*used(name).body, "status"}
    assert all(include.startswith(f"{name}.") for include in kind.shown.values())
