"""Dead ends say why and where."""

from mockserver.model.schema.document import DeadEndError


def test_a_dead_end_says_why_and_where() -> None:
    error = DeadEndError("nothing is allowed here", "#/a")
    assert (error.why, error.pointer) == ("nothing is allowed here", "#/a")
    assert DeadEndError("x").pointer == ""
