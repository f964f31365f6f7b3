"""Tables whose values are imported when they are first read."""

import re
import sys

import pytest

from mockserver.core.lazy import LazyTable, compile_lazily

MODULE = "this"  # of the standard library; nothing else imports it


def test_a_value_is_imported_when_it_is_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    table: LazyTable[object] = LazyTable({"zen": f"{MODULE}:c", "ready": 1})
    assert (table["ready"], table.is_imported("ready"), table.is_imported("zen")) == (1, True, False)
    assert MODULE not in sys.modules
    assert table["zen"] == sys.modules[MODULE].c
    assert table.is_imported("zen")


def test_others_can_be_added_and_a_missing_one_is_a_key_error() -> None:
    table: LazyTable[object] = LazyTable({"dumps": "json:dumps"})
    table["more"] = len
    assert (list(table), table["more"]) == (["dumps", "more"], len)
    assert callable(table["dumps"])
    assert table.is_imported("dumps")
    with pytest.raises(KeyError):
        table["other"]


def test_a_pattern_is_compiled_when_it_is_used() -> None:
    broken, pattern = compile_lazily("("), compile_lazily("b+", re.IGNORECASE)
    assert pattern.sub("-", "aBc") == "a-c"
    assert pattern.pattern == "b+"
    assert pattern.fullmatch("BB")
    with pytest.raises(re.error):
        broken.search("")
