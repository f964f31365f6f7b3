"""Models that a provider no longer serves; all others are not judged."""

import pytest

from mockserver.cassettes.verify import Retired, retired

IN_2024, IN_2026 = 1_710_000_000.0, 1_770_000_000.0


@pytest.mark.parametrize(
    ("dialect", "model", "now", "found"),
    [
        ("openai", "text-davinci-003", IN_2024, Retired("2024-01-04", "gpt-3.5-turbo-instruct")),
        ("openai", "gpt-4-32k", IN_2024, None),
        ("openai", "gpt-4-32k", IN_2026, Retired("2025-06-06", "gpt-4o")),
        ("openai", "text-search-ada-doc-001", IN_2026, Retired("2024-01-04", "text-embedding-3-small")),
        ("openai", "gpt-4o", IN_2026, None),
        ("openai", "", IN_2026, None),
        ("azure_openai", "text-davinci-003", IN_2026, None),
    ],
)
def test_models_are_retired_from_their_day_on(dialect: str, model: str, now: float, found: Retired | None) -> None:
    assert retired(dialect, model, now) == found
