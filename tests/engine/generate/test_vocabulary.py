"""Words of a line."""

from mockserver.engine.generate.vocabulary import vocabulary


def test_vocabulary() -> None:
    assert vocabulary("a bee  sees") == {"a", "bee", "sees"}
