"""Which keys of `then` go together: exactly one kind of answer, and beside it only what such an answer can take."""

from collections.abc import Collection, Mapping
from functools import cache

from mockserver.engine.spec.models import ContentSpec
from mockserver.engine.then.site import Site

SAYS = ("text", "json", "refusal")  # one of these, with or without tool calls, is one kind: content


def kind_of(then: ContentSpec, site: Site) -> str | None:
    """The kind of answer that a table gives, a key of BESIDE; None, and `site` is told, unless there is exactly one."""
    stated = then.model_fields_set
    keys = [key for key, name in keys_of(type(then)) if name in stated]
    outcomes = [key for key in keys if key in OUTCOMES and _answers(key, keys, then)]
    if not outcomes:
        site.refuse(_nothing(keys, then))
        return None
    kind = OUTCOMES[outcomes[0]]
    spoken = [key for key in outcomes if key in SAYS]
    other = next((key for key in outcomes if OUTCOMES[key] != kind), spoken[1] if len(spoken) > 1 else None)
    if other is not None:
        site.at(other).refuse_key(f'"{outcomes[0]}" and "{other}" are two answers; keep one{_HINTS.get(other, "")}')
        return None
    for key in keys:
        if key not in outcomes and key not in BESIDE[kind]:
            hint = _INSTEAD.get((kind, key)) or _INSTEAD.get((kind, ""), "")
            site.at(key).refuse_key(f'"{key}" does not go with "{outcomes[0]}"{hint}')
    return kind


@cache
def keys_of(kind: type[ContentSpec]) -> tuple[tuple[str, str], ...]:
    """The keys of a kind of `then`, and what each is called in it."""
    return tuple((field.alias or name, name) for name, field in kind.model_fields.items())


def _answers(key: str, keys: Collection[str], then: ContentSpec) -> bool:
    """Whether a key is the answer itself, not something that stands beside one."""
    match key:
        case "content_filter":
            return then.content_filter is not None and then.content_filter.on == "prompt"
        case "failed" | "faults" | "timing":
            return not any(other in OUTCOMES for other in keys if other != key and other not in _SENT)
    return True


def _nothing(keys: Collection[str], then: ContentSpec) -> str:
    if "content_filter" in keys:
        return '"content_filter" on the completion needs a text that it cuts; add text: ..., or write on: prompt'
    if "retry_after" in keys:
        return '"retry_after" goes with an error; add error: 429'
    answers = [key for key in OUTCOMES if key in type(then).takes()]
    return f"there is no answer here; write one of {', '.join(answers)}"


# The keys that are answers, and the kind of answer that each is.
OUTCOMES: Mapping[str, str] = {
    "text": "content",
    "json": "content",
    "refusal": "content",
    "tool_calls": "content",
    "items": "content",
    "parts": "parts",
    "choices": "choices",
    "error": "error",
    "content_filter": "content_filter",  # on the prompt; on the completion it stands beside a text
    "generate": "generate",
    "echo": "echo",
    "raw": "raw",
    "cassette": "cassette",
    "forward": "forward",
    "steps": "steps",
    "one_of": "one_of",
    "embedding": "embedding",
    "moderation": "moderation",
    "failed": "content",  # alone; else it stands beside what was said before
    "faults": "manner",  # alone: of what is answered without the rule; else of the answer beside it
    "timing": "manner",  # likewise
}

_SENT = frozenset(("timing", "faults"))
_REPLY = _SENT | {"usage", "model", "headers"}
_ENDING = frozenset(("finish", "content_filter", "annotate"))
# What can stand beside each kind of answer.
BESIDE: Mapping[str, frozenset[str]] = {
    "content": _REPLY | _ENDING | {"reasoning", "annotations", "logprobs", "chunks", "failed"},
    "parts": _REPLY | _ENDING | {"annotations", "logprobs", "chunks", "failed"},
    "choices": _REPLY | {"annotate"},
    "error": _SENT | {"retry_after", "headers"},
    "content_filter": _SENT | {"annotate", "headers"},
    "generate": _REPLY | _ENDING | {"chunks", "failed"},
    "echo": _REPLY | _ENDING | {"chunks", "failed"},
    "raw": _SENT,
    "cassette": _SENT,
    "forward": frozenset(),
    "manner": _SENT,
    "steps": frozenset(),
    "one_of": frozenset(),
    "embedding": _REPLY,
    "moderation": _SENT | {"model", "headers"},
}

_HINTS: Mapping[str, str] = {"content_filter": ", or write on: completion"}
_INSTEAD: Mapping[tuple[str, str], str] = {
    ("parts", "reasoning"): "; put {reasoning: ...} into the list",
    ("raw", "headers"): '; put it into "raw"',
    ("cassette", "headers"): "; an episode is played as it was recorded",
    ("forward", ""): "; the provider's answer goes out as it comes",
    ("choices", "failed"): "; an answer breaks off as a whole, so give it one text",
    ("manner", ""): "; write generate: auto beside it",
    ("choices", ""): "; put it into each choice",
    ("steps", ""): "; put it into each step",
    ("one_of", ""): '; put it into the "then" of each branch',
}
