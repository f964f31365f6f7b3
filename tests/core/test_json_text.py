from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.json import canonical, canonical_pieces, compact, parsed


def test_texts_are_written_without_blanks_and_as_they_read() -> None:
    assert compact({"a": [1, 2.5, None], "città": "東京"}) == '{"a":[1,2.5,null],"città":"東京"}'


def test_what_is_no_json_is_something_else() -> None:
    assert parsed('{"a": 1}', "none") == {"a": 1}
    assert parsed("null", "none") is None
    assert parsed("{a: 1}") is None
    assert parsed("{a: 1}", "none") == "none"


def test_what_is_nested_too_deeply_is_none() -> None:
    assert parsed("[" * 1_000_000, "none") == "none"


@given(
    st.lists(
        st.text() | st.text(st.characters(max_codepoint=127), min_size=1, max_size=9).map(lambda text: text * 5000)
    )
)
def test_long_texts_are_written_as_short_ones_are(texts: list[str]) -> None:
    assert b"".join(canonical_pieces(texts)).decode() == canonical(texts)
