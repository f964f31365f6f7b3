"""Values are kept within a number of bytes."""

from mockserver.core.json import Json
from mockserver.core.lazy import Memo, forget_remembered, remember, remember_json


def test_what_was_kept_is_found() -> None:
    memo = Memo[str, int](most=10_000)
    assert memo.keep("a", 1, 10) == 1
    assert memo.get("a") == 1


def test_all_is_forgotten_before_it_takes_too_many_bytes() -> None:
    memo = Memo[int, int](most=10_000)
    most_held = 0
    for number in range(1_000):
        memo.keep(number, number, 900)
        most_held = max(most_held, 900 * len(memo))
        assert memo.get(number) == number
    assert 5_000 < most_held <= 10_000


def test_a_large_value_is_not_kept_and_pushes_out_nothing() -> None:
    memo = Memo[str, int](most=10_000)
    memo.keep("a", 1, 10)
    assert memo.keep("large", 2, 5_000) == 2
    assert dict(memo) == {"a": 1}


def test_what_is_remembered_can_be_forgotten() -> None:
    asked = list[str]()

    @remember(2)
    def measure(text: str) -> int:
        asked.append(text)
        return len(text)

    assert [measure("a"), measure("bc"), measure("a")] == [1, 2, 1]
    assert asked == ["a", "bc"]
    forget_remembered()
    assert measure("a") == 1
    assert asked == ["a", "bc", "a"]


def test_equal_json_is_remembered() -> None:
    asked = list[Json]()

    @remember_json(2)
    def measure(value: Json, unit: str) -> str:
        asked.append(value)
        return f"{len(value)} {unit}"

    assert measure({"a": [1]}, "keys") == measure({"a": [1]}, "keys") == "1 keys"
    assert measure({"a": [1.0]}, "keys") == measure({"a": [True]}, "keys") == "1 keys"
    assert asked == [{"a": [1]}, {"a": [1.0]}, {"a": [True]}]
    assert list(map(type, (each["a"][0] for each in asked))) == [int, float, bool]


def test_json_that_cannot_be_written_or_is_long_is_measured_anew() -> None:
    asked = list[int]()

    @remember_json(8)
    def measure(value: Json) -> int:
        asked.append(len(value))
        return len(value)

    deep: Json = []
    for _ in range(100_000):
        deep = [deep]
    for value in ("\ud800", deep, "x" * 100_000):
        assert measure(value) == measure(value) == len(value)
    assert asked == [1, 1, 1, 1, 100_000, 100_000]
