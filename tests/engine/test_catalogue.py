"""Which models there are, and what is known of each."""

import pytest

from mockserver.core.plan import Failure, Timing
from mockserver.engine.catalogue import UNKNOWN, Catalogue, Model, published

OWN = ("gpt-5", "gpt-4o", "gpt-4o-mini")
NAMED = Catalogue(
    {
        "gpt-4o": Model(resolved="gpt-4o-2024-08-06", aliases=("fast", "cheap"), timing=Timing(1.0)),
        "mine": Model(10, aliases=("ours",)),
        "m*": Model(20, tools=False),
    }
)


def listing(*names: str) -> Catalogue:
    return Catalogue(dict.fromkeys(names, UNKNOWN))


@pytest.mark.parametrize(
    ("asked", "catalogue", "names"),
    [
        ("", Catalogue(), OWN),
        ("mine", Catalogue(), ("mine",)),
        ("", listing("mine"), ("mine",)),
        ("", listing("gpt-4o*", "mine", "gpt-4o"), ("gpt-4o", "gpt-4o-mini", "mine")),
        ("", listing("claude*"), ()),
        ("", listing(), ()),
        ("", NAMED, ("gpt-4o", "fast", "cheap", "gpt-4o-2024-08-06", "mine", "ours")),
        ("fast", NAMED, ("fast",)),
    ],
)
def test_names(asked: str, catalogue: Catalogue, names: tuple[str, ...]) -> None:
    assert catalogue.names(asked, OWN) == names


@pytest.mark.parametrize(
    ("model", "catalogue"),
    [
        ("x", Catalogue()),
        ("x", listing("x")),
        ("x1", listing("y", "x*")),
        ("", listing("y")),
        ("", listing()),
        ("ours", NAMED),
        ("gpt-4o-2024-08-06", NAMED),
    ],
)
def test_a_model_that_exists(model: str, catalogue: Catalogue) -> None:
    catalogue.admit(model)


@pytest.mark.parametrize("model", ["x", "x" * 1000])
def test_a_model_that_does_not(model: str) -> None:
    with pytest.raises(Failure) as raised:
        listing("y", "xx*z").admit(model)
    assert (raised.value.reason, raised.value.details) == ("unknown_model", {"model": model})


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("fast", "gpt-4o-2024-08-06"),
        ("gpt-4o-2024-08-06", "gpt-4o-2024-08-06"),
        ("ours", "mine"),
        ("myself", "myself"),
        ("", ""),
    ],
)
def test_what_answers_call_it(asked: str, name: str) -> None:
    assert NAMED.find(asked).name == name


def test_an_entry_of_its_own_wins_over_the_name_that_answers_carry() -> None:
    both = Catalogue({"a": Model(1, resolved="b"), "b": Model(2)})
    assert (both.find("a").name, both.properties("a").context_window) == ("b", 1)
    assert (both.find("b").name, both.properties("b").context_window) == ("b", 2)


def test_a_pattern_may_carry_one_name_for_all() -> None:
    routed = Catalogue({"*": Model(resolved="gpt-4")})
    assert (routed.find("anything").name, routed.properties("anything").context_window) == ("gpt-4", 8192)


def test_entries_add_up_key_by_key_the_first_winning() -> None:
    assert (NAMED.properties("mine").context_window, NAMED.properties("mine").tools) == (10, False)
    assert NAMED.properties("ours") == NAMED.properties("mine")
    assert NAMED.properties("mystery").context_window == 20


def test_what_is_published_fills_the_gaps() -> None:
    usual = published("gpt-4")
    assert usual is not None
    assert Catalogue().properties("gpt-4") == usual
    assert Catalogue({"gpt-4": Model(5)}).properties("gpt-4") == Model(5).over(usual)
    assert Catalogue(published=False).properties("gpt-4") == UNKNOWN
    assert Catalogue().properties("whatever") == UNKNOWN
    open_ended = Catalogue({"*": Model(unlimited=frozenset({"context_window"}))})
    assert open_ended.properties("gpt-4").context_window is None


def test_the_resolved_name_tells_more_than_the_deployment() -> None:
    assert Catalogue({"gpt-4": Model(resolved="gpt-4o-2024-08-06")}).properties("gpt-4").context_window == 128_000
    assert Catalogue({"gpt-4": Model(resolved="ours")}).properties("gpt-4").context_window == 8192


def test_what_is_only_published_is_held_against_nobody_where_providers_differ() -> None:
    lenient, strict = Catalogue().find("o1-mini").refusing, Catalogue(strict=True).find("o1-mini").refusing
    assert (lenient.context_window, lenient.tools) == (strict.context_window, strict.tools) == (128_000, False)
    assert (lenient.sampling, strict.sampling) == (None, False)
    assert (lenient.max_output_tokens, strict.max_output_tokens) == (None, 65_536)
    said = Catalogue({"o1-mini": Model(max_output_tokens=9, sampling=False)}).find("o1-mini").refusing
    assert (said.max_output_tokens, said.sampling) == (9, False)
