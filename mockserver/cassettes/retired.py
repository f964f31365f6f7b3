"""Models that their providers no longer serve: a recording of one cannot be made anew.

From https://platform.openai.com/docs/deprecations, whose dates are those of the shutdown. What does not stand here is
not judged.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Retired:
    """Since when a model is no longer served, and what its provider recommends instead."""

    since: str
    instead: str


def retired(dialect: str, model: str, now: float) -> Retired | None:
    """Whether a model has been retired by now (Unix seconds). Each provider retires its own."""
    found = _OPENAI.get(model) if dialect == "openai" else None
    if found is None or datetime.fromisoformat(found.since).replace(tzinfo=UTC).timestamp() > now:
        return None
    return found


def _all(since: str, instead: str, *models: str) -> Mapping[str, Retired]:
    return dict.fromkeys(models, Retired(since, instead))


_FIRST_EMBEDDINGS = (
    *(f"text-similarity-{size}-001" for size in ("ada", "babbage", "curie", "davinci")),
    *(f"text-search-{size}-{part}-001" for size in ("ada", "babbage", "curie", "davinci") for part in ("doc", "query")),
    *(f"code-search-{size}-{part}-001" for size in ("ada", "babbage") for part in ("code", "text")),
)
_OPENAI: Mapping[str, Retired] = {
    **_all("2023-03-23", "gpt-4o", "code-davinci-001", "code-cushman-001", "code-cushman-002"),
    **_all("2024-01-04", "gpt-3.5-turbo-instruct", "text-ada-001", "text-babbage-001", "text-curie-001"),
    **_all("2024-01-04", "gpt-3.5-turbo-instruct", "text-davinci-001", "text-davinci-002", "text-davinci-003"),
    **_all("2024-01-04", "gpt-3.5-turbo-instruct", "code-davinci-002"),
    **_all("2024-01-04", "babbage-002", "ada", "babbage"),
    **_all("2024-01-04", "davinci-002", "curie", "davinci"),
    **_all("2024-01-04", "gpt-4o", "text-davinci-edit-001", "code-davinci-edit-001"),
    **_all("2024-01-04", "text-embedding-3-small", *_FIRST_EMBEDDINGS),
    **_all("2024-09-13", "gpt-3.5-turbo", "gpt-3.5-turbo-0301", "gpt-3.5-turbo-0613", "gpt-3.5-turbo-16k-0613"),
    **_all("2024-12-06", "gpt-4o", "gpt-4-vision-preview", "gpt-4-1106-vision-preview"),
    **_all("2025-06-06", "gpt-4o", "gpt-4-32k", "gpt-4-32k-0314", "gpt-4-32k-0613"),
}
