"""Options as types, names of cassettes, and the place of the calling test."""

from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

from mockserver.cassettes.cassette_names import find_path
from mockserver.config.settings import Settings
from mockserver.pytest_plugin.plugin_options import OPTIONS
from mockserver.rules.match.fields import FIELDS
from mockserver.rules.schema import ErrorSpec, ThenSpec
from mockserver.testing.callers import find_caller, resolve_path, shorten_path
from mockserver.testing.options import FAMILIES, Details, ServerOptions, Then, When, flatten_when
from mockserver.testing.setup import name_cassette

OURS = {"host", "port", "cors", "allowed_hosts", "control_token", "reload", "log", "stored_bytes", "journal_bytes"}
OURS |= {"inspector", "inspector_writes", "state", "workers", "stored_files"}


def test_every_setting_that_a_test_can_use() -> None:
    assert set(ServerOptions.__annotations__) == set(Settings.model_fields) - OURS | {"allow_hosts"}


@pytest.mark.parametrize("name", [name for name, option in OPTIONS.items() if option.choices is not None])
def test_the_plugin_offers_the_values_of_a_setting(name: str) -> None:
    stated = get_type_hints(ServerOptions)[name]
    known = [value for each in (stated, *get_args(stated)) if get_origin(each) is Literal for value in get_args(each)]
    assert sorted(OPTIONS[name].choices or ()) == sorted(known)


def test_every_field_of_when() -> None:
    fields = {name.partition(".")[0] for name in FIELDS}
    assert set(When.__annotations__) == fields | {"any", "all", "not_"}
    families = {name.partition(".")[0] for name in FIELDS if "<" in name}
    assert set(FAMILIES) == families - {"arguments", "client_answer"}  # of which rules have tables, too


def test_every_key_of_then_but_those_with_a_method_of_their_own() -> None:
    keys = {field.alias or name for name, field in ThenSpec.model_fields.items()}
    assert set(Then.__annotations__) == keys - {"text", "error", "retry_after", "steps", "one_of"}


def test_every_key_of_an_error() -> None:
    assert set(Details.__annotations__) == set(ErrorSpec.model_fields) - {"status", "reason"} | {"timing", "faults"}


def test_a_table_as_rules_files_have_it() -> None:
    stated = {"model": "x", "param": {"n": 2, "a.b": 1}, "header": {"x-a": None}, "not_": {"turn": 0}}
    assert flatten_when(stated) == {"model": "x", "param.n": 2, "param.a.b": 1, "header.x-a": None, "not": {"turn": 0}}
    assert flatten_when({"param": 3}) == {"param": 3}  # which is then told to be a mistake


SAME = ["test_app", "TestChat.test_greets", "test_greets[gpt-4o-0.5]", "test_größe", "test_a[x=1, y=[2]]", "[x]"]
OTHER = {
    "test_a[b/c]": "test_a[b-c]~",
    "test_a[b:c]": "test_a[b-c]~",
    "test_a[GPT]": "test_a[GPT]~",
    "test_a[a\\xe9\n]": "test_a[a-xe9-]~",
    "../up": "up~",
    ".": "_~",
    "": "_~",
    "-x": "x~",
    "x. ": "x~",
    "x.yaml": "x.yaml~",
    "x" * 500: "x" * 150 + "~",
    "ö" * 500: "ö" * 75 + "~",
    "a\ud800": "a-~",
}


@pytest.mark.parametrize("name", SAME)
def test_what_a_disk_takes_stays(name: str, tmp_path: Path) -> None:
    assert name_cassette([name]) == name
    assert find_path(tmp_path, name_cassette(["test_it", name])).parent == tmp_path / "test_it"


@pytest.mark.parametrize(("name", "start"), OTHER.items(), ids=map(ascii, OTHER))
def test_what_it_may_not_take_ends_in_a_mark(name: str, start: str, tmp_path: Path) -> None:
    made = name_cassette([name])
    assert made[:-8] == start
    assert len(made.encode()) < 200
    find_path(tmp_path, name_cassette(["test_it", name]))


def test_the_line_that_is_at_work() -> None:
    place = find_caller()
    line = test_the_line_that_is_at_work.__code__.co_firstlineno + 1
    assert (place.where, place.column, place.text) == (
        f"tests/testing/test_options.py:{line}",
        5,
        "    place = find_caller()",
    )


def test_a_file_elsewhere_is_named_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_caller().file == __file__
    assert shorten_path(tmp_path / "a" / "b.yaml") == "a/b.yaml"


def test_a_file_beside_the_test_comes_before_one_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_path("test_options.py") == Path(__file__)
    assert resolve_path("elsewhere.yaml") == Path("elsewhere.yaml")
    assert resolve_path(tmp_path / "x.yaml") == tmp_path / "x.yaml"
