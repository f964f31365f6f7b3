"""Places know where they are, and how often what was made there has been refused."""

from mockserver.model.schema.making import Place


def test_places_are_json_pointers() -> None:
    root = Place(hints=("Order",))
    assert root.below("a/b~c", "a/b~c") == Place("/a~1b~0c", ("a/b~c",), 1)
    assert root.below("lines", "lines").below("0", "").hints == ("lines",)
    assert root.again(2).below("a", "a").again(1).tries == 3
    assert root.again(0) is root
