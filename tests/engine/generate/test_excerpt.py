import pytest

from mockserver.model.arguments.words import ends, excerpt


@pytest.mark.parametrize(
    ("text", "head", "tail", "read"),
    [
        ("", 0, 0, ""),
        ("abcd", 2, 2, "abcd"),
        ("abcde", 2, 2, "ab\nde"),
        ("abcde", 1, 3, "a\ncde"),
        ("abcde", 1, 0, "a\n"),
        ("abcde", 0, 1, "\ne"),
    ],
)
def test_both_ends_are_read(text: str, head: int, tail: int, read: str) -> None:
    assert ends(text, head, tail) == read


def test_a_huge_text_is_read_at_both_ends() -> None:
    text = "a" * 5000 + "b" * 50_000 + "c" * 5000
    found = excerpt(text)
    assert len(found) == 10_001
    assert found.startswith("aa")
    assert found.endswith("cc")
    assert excerpt("short") == "short"
