"""The options that editors know are those that there are."""

from mockserver.config.settings import Settings
from mockserver.rules.match.fields import FIELDS
from mockserver.rules.schema import ErrorSpec, ThenSpec
from mockserver.testing.options import FAMILIES, Details, Options, Then, When, table

OURS = {"host", "port", "cors", "allowed_hosts", "control_token", "reload", "log", "stored_bytes", "journal_bytes"}


def test_every_setting_that_a_test_can_use() -> None:
    assert set(Options.__annotations__) == set(Settings.model_fields) - OURS


def test_every_field_of_when() -> None:
    fields = {name.partition(".")[0] for name in FIELDS}
    assert set(When.__annotations__) == fields | {"any", "all", "not_"}
    assert set(FAMILIES) == {name.partition(".")[0] for name in FIELDS if "<" in name}


def test_every_key_of_then_but_those_with_a_method_of_their_own() -> None:
    keys = {field.alias or name for name, field in ThenSpec.model_fields.items()}
    assert set(Then.__annotations__) == keys - {"text", "error", "retry_after", "steps", "one_of"}


def test_every_key_of_an_error() -> None:
    assert set(Details.__annotations__) == set(ErrorSpec.model_fields) - {"status", "reason"} | {"timing", "faults"}


def test_a_table_as_rules_files_have_it() -> None:
    stated = {"model": "x", "param": {"n": 2, "a.b": 1}, "header": {"x-a": None}, "not_": {"turn": 0}}
    assert table(stated) == {"model": "x", "param.n": 2, "param.a.b": 1, "header.x-a": None, "not": {"turn": 0}}
    assert table({"param": 3}) == {"param": 3}  # which is then told to be a mistake
