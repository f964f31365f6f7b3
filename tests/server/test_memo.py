"""Equal requests get what they got before, from the same owner."""

from mockserver.server.live import Memo


def test_a_value_is_good_for_its_owner() -> None:
    memo, one, two = Memo[str](), object(), object()
    memo.put("k", one, "v")
    assert (memo.get("k", one), memo.get("k", two), memo.get("j", one)) == ("v", None, None)
    memo.put("k", two, "w")
    assert (memo.get("k", one), memo.get("k", two)) == (None, "w")


def test_of_too_many_the_oldest_goes() -> None:
    memo, owner = Memo[int](limit=2), object()
    for key in range(3):
        memo.put(key, owner, key)
    assert [memo.get(key, owner) for key in range(3)] == [None, 1, 2]
