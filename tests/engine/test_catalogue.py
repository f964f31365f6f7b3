"""Which models there are."""

import pytest

from mockserver.core.plan import Failure
from mockserver.engine.catalogue import admit, models

OWN = ("gpt-5", "gpt-4o", "gpt-4o-mini")


@pytest.mark.parametrize(
    ("asked", "listed", "names"),
    [
        ("", None, OWN),
        ("mine", None, ("mine",)),
        ("", ("mine",), ("mine",)),
        ("", ("gpt-4o*", "mine", "gpt-4o"), ("gpt-4o", "gpt-4o-mini", "mine")),
        ("", ("claude*",), ()),
        ("", (), ()),
    ],
)
def test_models(asked: str, listed: tuple[str, ...] | None, names: tuple[str, ...]) -> None:
    assert models(asked, listed, OWN) == names


@pytest.mark.parametrize(("model", "listed"), [("x", None), ("x", ("x",)), ("x1", ("y", "x*")), ("", ("y",)), ("", ())])
def test_a_model_that_exists(model: str, listed: tuple[str, ...] | None) -> None:
    admit(model, listed)


def test_a_model_that_does_not() -> None:
    with pytest.raises(Failure) as raised:
        admit("x", ("y", "xx*"))
    assert (raised.value.reason, raised.value.details) == ("unknown_model", {"model": "x"})
