"""Words of a line."""

from mockserver.model.arguments.words import vocabulary


def test_vocabulary() -> None:
    assert vocabulary("a bee  sees") == {"a", "bee", "sees"}
