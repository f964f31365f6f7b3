import pytest

from mockserver.core.json import Json, compact, find_in, find_table, try_parse, write_canonical


def test_texts_are_written_without_blanks_and_as_they_read() -> None:
    assert compact({"a": [1, 2.5, None], "città": "東京"}) == '{"a":[1,2.5,null],"città":"東京"}'


def test_what_is_no_json_is_something_else() -> None:
    assert try_parse('{"a": 1}', "none") == {"a": 1}
    assert try_parse("null", "none") is None
    assert try_parse("{a: 1}") is None
    assert try_parse("{a: 1}", "none") == "none"


def test_what_is_nested_too_deeply_is_none() -> None:
    assert try_parse("[" * 1_000_000, "none") == "none"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [1.5, None, True]}, '{"a":[1.5,null,true],"b":1}'),
        ({"città": "東京\x7f"}, '{"città":"東京\x7f"}'),
        ({"b": 10**30, "a": 0.1}, '{"a":0.1,"b":1000000000000000000000000000000}'),
        (["\ud800", "ü"], r'["\ud800","\u00fc"]'),
    ],
)
def test_canonical_text_has_sorted_keys_and_takes_any_number_and_text(value: Json, text: str) -> None:
    assert write_canonical(value).decode() == text


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ((), {"a": [{"b": 1}, "text"]}),
        (("a", 0, "b"), 1),
        (("a", 2), None),
        (("a", "0"), None),
        (("a", 1, 0), None),
        (("c", "b"), None),
        (("a", 0, "b", "c"), None),
    ],
)
def test_a_path_leads_to_a_value_or_to_nothing(path: tuple[str | int, ...], found: Json) -> None:
    assert find_in({"a": [{"b": 1}, "text"]}, *path) == found


def test_what_is_no_object_is_an_empty_one() -> None:
    assert find_table({"a": {"b": {"c": 1}}}, "a", "b") == {"c": 1}
    assert find_table({"a": {"b": 1}}, "a", "b") == {}
    assert find_table(None) == {}
