"""Values are kept within a number of bytes."""

from mockserver.core.lazy import Memo, forget_remembered, remember


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
