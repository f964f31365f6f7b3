"""How large patterns are once their counts are written out."""

import time

import pytest

from mockserver.core.pattern_size import estimate_size


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("", 0),
        ("abc", 3),
        ("a{3}", 3),
        ("a{0,9}", 0),
        (r"\{3}", 3),
        ("(?x)a b{2} # c{9}", 18),
        (r"[a-z{9}]", 1),
        ("(ab){3}c", 7),
        ("((a{10}){10}){10}", 1000),
        ("a{10}{10}{10}", 1000),
    ],
)
def test_the_size_of_a_plain_pattern(pattern: str, size: int) -> None:
    assert estimate_size(pattern) == size


@pytest.mark.parametrize(
    "pattern",
    [
        "a{1000000000}",
        "a{" + "9" * 5000 + "}",
        "(?x)a{ 1000000 }",
        "(?x)a{1 0 0 0 0 0 0}",
        "(?x)a{10000#\n00}",
        "(?x)a # one\n {1000000}",
        "(?ix)(?:a{1000}) {1000}",
        "(?x)(?:a{1000}) # and\n\n {1000}",
        "(?x:(?:a{1000}) {1000})",
        "(?:a{1000})(?#and){1000}",
        "(?x)[#](?:a{1000}) {1000}",
        "(?-x:#)(?x:(?:a{1000}) {1000})",
        "(?x)(?-x:#)(?:a{1000})#c\n{1000}",
        "a{1000000,}",
        "a{1000000}?",
    ],
)
def test_a_count_is_seen_however_it_is_written(pattern: str) -> None:
    assert estimate_size(pattern) >= 1_000_000


@pytest.mark.parametrize("piece", ["[", "(", "{", "{1", "{ ", "(?#", "#", "\\", "[[", "{1#\n", "{1#", "[\\", "(?x)"])
def test_it_takes_time_in_proportion(piece: str) -> None:
    def seconds(text: str) -> float:
        begun = time.perf_counter()
        estimate_size("(?x)" + text)
        return time.perf_counter() - begun

    few = min(seconds(piece * 500) for _ in range(3))
    assert seconds(piece * 5_000) < 40 * few + 0.2
