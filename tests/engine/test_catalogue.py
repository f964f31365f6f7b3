"""Which models there are, and what is known of each."""

import pytest

from mockserver.core.plan import Failure, Timing
from mockserver.core.validation import Validation
from mockserver.dialects import discover
from mockserver.engine.catalogue import UNKNOWN, Catalogue, Model, find_published

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
    assert catalogue.list_names(asked, OWN) == names


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
    assert (both.find("a").name, both.find_properties("a").context_window) == ("b", 1)
    assert (both.find("b").name, both.find_properties("b").context_window) == ("b", 2)


def test_a_pattern_may_carry_one_name_for_all() -> None:
    routed = Catalogue({"*": Model(resolved="gpt-4")})
    assert (routed.find("anything").name, routed.find_properties("anything").context_window) == ("gpt-4", 8192)


def test_entries_add_up_key_by_key_the_first_winning() -> None:
    assert (NAMED.find_properties("mine").context_window, NAMED.find_properties("mine").tools) == (10, False)
    assert NAMED.find_properties("ours") == NAMED.find_properties("mine")
    assert NAMED.find_properties("mystery").context_window == 20


def test_what_is_published_fills_the_gaps() -> None:
    usual = find_published("gpt-4")
    assert usual is not None
    assert Catalogue().find_properties("gpt-4") == usual
    assert Catalogue({"gpt-4": Model(5)}).find_properties("gpt-4") == Model(5).fill_from(usual)
    assert Catalogue(published=False).find_properties("gpt-4") == UNKNOWN
    assert Catalogue().find_properties("whatever") == UNKNOWN
    open_ended = Catalogue({"*": Model(unlimited=frozenset({"context_window"}))})
    assert open_ended.find_properties("gpt-4").context_window is None


def test_the_resolved_name_tells_more_than_the_deployment() -> None:
    assert Catalogue({"gpt-4": Model(resolved="gpt-4o-2024-08-06")}).find_properties("gpt-4").context_window == 128_000
    assert Catalogue({"gpt-4": Model(resolved="ours")}).find_properties("gpt-4").context_window == 8192


def test_what_is_only_published_is_held_against_nobody_where_providers_differ() -> None:
    refusing = Catalogue().find("o1-mini").refusing
    lenient, strict = refusing[Validation.PUBLISHED], refusing[Validation.LIVE]
    assert (lenient.context_window, lenient.tools) == (strict.context_window, strict.tools) == (128_000, False)
    assert (lenient.sampling, strict.sampling) == (None, False)
    assert (lenient.max_output_tokens, strict.max_output_tokens) == (None, 65_536)
    said = (
        Catalogue({"o1-mini": Model(max_output_tokens=9, sampling=False)})
        .find("o1-mini")
        .refusing[Validation.PUBLISHED]
    )
    assert (said.max_output_tokens, said.sampling) == (9, False)


def test_what_is_said_to_be_nothing_is_not_filled_in() -> None:
    free = Model(unlimited=frozenset({"context_window"}))
    assert free.fill_from(Model(5, 6)).fill_from(Model(7)) == Model(None, 6, unlimited=frozenset({"context_window"}))
    assert Model(1).fill_from(free).context_window == 1
    assert UNKNOWN.fill_from(free).fill_from(Model(5)).context_window is None


@pytest.mark.parametrize(
    ("name", "window", "tokenizer"),
    [
        ("gpt-3.5-turbo", 16_385, "cl100k_base"),
        ("gpt-35-turbo", 16_385, "cl100k_base"),
        ("gpt-3.5-turbo-instruct", 4096, "cl100k_base"),
        ("gpt-4", 8192, "cl100k_base"),
        ("gpt-4-turbo-2024-04-09", 128_000, "cl100k_base"),
        ("gpt-4o", 128_000, "o200k_base"),
        ("openai/gpt-4o-mini", 128_000, "o200k_base"),
        ("ft:gpt-4o-mini-2024-07-18:acme::abc", 128_000, "o200k_base"),
        ("gpt-4.1-nano", 1_047_576, "o200k_base"),
        ("gpt-5-mini", 400_000, "o200k_base"),
        ("gpt-5.1", 400_000, "o200k_base"),
        ("o1-mini", 128_000, "o200k_base"),
        ("o3", 200_000, "o200k_base"),
        ("o4-mini-2025-04-16", 200_000, "o200k_base"),
        ("text-embedding-3-small", 8192, "cl100k_base"),
        ("accounts/fireworks/models/gpt-oss-120b", 131_072, "o200k_base"),
        ("accounts/fireworks/models/qwen3-8b", 40_960, None),
        ("accounts/fireworks/models/kimi-k2-instruct-0905", 262_144, None),
        ("accounts/fireworks/models/llama-v3p1-8b-instruct", 131_072, None),
        ("Llama-3.3-70B-Instruct", 131_072, None),
        ("Phi-4", 16_384, None),
        ("Phi-3.5-mini-instruct", 131_072, None),
        ("mistral-large-2411", 131_072, None),
        ("deepseek-r1", 163_840, None),
        ("tzafon.sm-1", 32_768, None),
        ("embed-multilingual-v3.0", 512, None),
        ("voyage-3.5-lite", 32_000, None),
        ("jina-reranker-v3", 131_072, None),
    ],
)
def test_well_known_names(name: str, window: int, tokenizer: str | None) -> None:
    found = find_published(name)
    assert found is not None
    assert (found.context_window, found.tokenizer) == (window, tokenizer)


@pytest.mark.parametrize(
    "name", ["", "m", "my-gpt-4", "gpt-4-ours", "gpt-x", "o33", "ft:", "ft:ours:x", "/", "a" * 10**6]
)
def test_of_others_nothing_is_known(name: str) -> None:
    assert find_published(name) is None


def test_what_the_dialects_list_is_known_but_for_what_nobody_publishes() -> None:
    listed = {name for dialect in discover().values() for name in dialect.models}
    assert {name for name in listed if find_published(name) is None} == {
        "cohere-transcribe-03-2026",
        "deepbrain-router",
        "mistral-ocr-latest",
    }
