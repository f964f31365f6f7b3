"""Whether mentions share a place."""

from mockserver.model.arguments.values import Mention


def test_overlaps() -> None:
    one = Mention("name", "a", 2, 5)
    assert one.overlaps(Mention("name", "b", 4, 9))
    assert one.overlaps(Mention("name", "b", 3, 4))
    assert not one.overlaps(Mention("name", "b", 5, 9))
