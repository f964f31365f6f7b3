"""What is published of well-known models."""

import pytest

from mockserver.dialects import discover
from mockserver.engine.catalogue import PUBLISHED, Model, published


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
    ],
)
def test_well_known_names(name: str, window: int, tokenizer: str | None) -> None:
    found = published(name)
    assert found is not None
    assert (found.context_window, found.tokenizer) == (window, tokenizer)


@pytest.mark.parametrize(
    "name", ["", "m", "my-gpt-4", "gpt-4-ours", "gpt-x", "o33", "ft:", "ft:ours:x", "/", "a" * 10**6]
)
def test_of_others_nothing_is_known(name: str) -> None:
    assert published(name) is None


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("gpt-3.5-turbo", {"vision", "json_schema"}),
        ("gpt-4", {"vision", "json_schema"}),
        ("gpt-4-turbo", {"json_schema"}),
        ("gpt-4o-2024-05-13", {"json_schema"}),
        ("gpt-4o", set()),
        ("gpt-5", set()),
        ("o1-mini", {"tools", "vision", "json_schema"}),
        ("o3-mini", {"vision"}),
        ("gpt-3.5-turbo-instruct", {"tools", "vision", "json_schema"}),
        ("accounts/fireworks/models/qwen3-8b", set()),
        ("Phi-4", set()),
    ],
)
def test_what_they_lack(name: str, lacks: set[str]) -> None:
    found = published(name)
    assert {key for key in ("tools", "vision", "json_schema") if getattr(found, key) is False} == lacks


def test_no_name_is_changed_and_no_answer_slowed() -> None:
    assert all(model.resolved is None and not model.aliases and model.timing is None for model in PUBLISHED.values())


def test_every_pattern_can_be_reached() -> None:
    for pattern, model in PUBLISHED.items():
        assert published(pattern.replace("*", "")) is not None
        assert isinstance(model, Model)


def test_what_the_dialects_list_is_known_but_for_what_nobody_publishes() -> None:
    listed = {name for dialect in discover().values() for name in dialect.models}
    assert {name for name in listed if published(name) is None} == {"deepbrain-router"}
