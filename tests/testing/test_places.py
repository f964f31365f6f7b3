"""The line of the test that called."""

from pathlib import Path

import pytest

from mockserver.testing.options import caller, relative, relative_to_caller


def test_the_line_that_is_at_work() -> None:
    place = caller()
    line = test_the_line_that_is_at_work.__code__.co_firstlineno + 1
    assert (place.where, place.column, place.text) == (
        f"tests/testing/test_places.py:{line}",
        5,
        "    place = caller()",
    )


def test_a_file_elsewhere_is_named_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert caller().file == __file__
    assert relative(tmp_path / "a" / "b.yaml") == "a/b.yaml"


def test_a_file_beside_the_test_comes_before_one_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert relative_to_caller("test_places.py") == Path(__file__)
    assert relative_to_caller("elsewhere.yaml") == Path("elsewhere.yaml")
    assert relative_to_caller(tmp_path / "x.yaml") == tmp_path / "x.yaml"


def test_what_stands_in_no_file() -> None:
    scope: dict[str, object] = {"caller": caller}
    exec("place = caller()", scope)
    assert str(scope["place"]) == "<string>:1:1"
