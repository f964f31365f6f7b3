"""Combinations that no dialect can keep: a rule for dialects that do not have what its answer uses."""

from collections.abc import Iterator, Mapping

from mockserver.core.call import Json
from mockserver.engine.spec.models import ContentSpec, ThenSpec
from mockserver.engine.then.site import Site
from mockserver.engine.when.conditions import Condition
from mockserver.engine.when.index import pinned
from mockserver.positions import Path, did_you_mean

Known = Mapping[str, frozenset[str]]  # the features of each dialect


def check_dialects(when: Json, site: Site, known: Known) -> None:
    """Tell `site`, a rule, of unknown dialects in its `when`."""
    for path, dialect in _named(when.get("dialect") if isinstance(when, Mapping) else None):
        if dialect not in known:
            hint = did_you_mean(dialect, known) or f"; it is one of {', '.join(known)}"
            site.at("when", "dialect", *path).refuse(f'unknown dialect "{dialect[:60]}"{hint}')


def check_features(when: Condition, then: ThenSpec, site: Site, known: Known) -> None:
    """Tell `site`, a rule, of what its `then` uses and a dialect that its condition asks for does not have."""
    pins = pinned(when, "dialect") or ()
    dialects = [dialect for dialect in known if dialect in pins]
    for path, feature in _used(then, ()) if dialects else ():
        lacking = next((dialect for dialect in dialects if feature not in known[dialect]), None)
        if lacking is not None:
            have = [dialect for dialect in known if feature in known[dialect]]
            hint = f"; {', '.join(have)} can" if have else ""
            site.at("then", *path).refuse_key(
                f'"when" asks for the dialect "{lacking}", which cannot send {WORDS[feature]}{hint}'
            )


def _named(dialect: Json) -> Iterator[tuple[Path, str]]:
    """The dialects that `when` names one by one; a pattern names none."""
    match dialect:
        case str() if "*" not in dialect:
            yield (), dialect
        case list():
            yield from (((at,), name) for at, name in enumerate(dialect) if isinstance(name, str))
        case Mapping():
            if isinstance(dialect.get("equals"), str):
                yield ("equals",), dialect["equals"]
            if isinstance(dialect.get("in"), list):
                yield from ((("in", at), name) for at, name in enumerate(dialect["in"]) if isinstance(name, str))


def _used(content: ContentSpec, path: Path) -> Iterator[tuple[Path, str]]:
    for key, feature in FEATURE_OF.items():
        if getattr(content, key, None) is not None:
            yield (*path, key), feature
    for at, part in enumerate(content.parts or ()):
        if part.refusal is not None:
            yield (*path, "parts", at, "refusal"), "refusal"
        if part.item is not None:
            yield (*path, "parts", at, "item"), "items"
        if part.tool_call is not None and part.tool_call.input is not None:
            yield (*path, "parts", at, "tool_call", "input"), "custom_tools"
    for at, call in enumerate(content.tool_calls or ()):
        if call.input is not None:
            yield (*path, "tool_calls", at, "input"), "custom_tools"
    if isinstance(content, ThenSpec):
        yield from _used_inside(content, path)


def _used_inside(then: ThenSpec, path: Path) -> Iterator[tuple[Path, str]]:
    for at, choice in enumerate(then.choices or ()):
        yield from _used(choice, (*path, "choices", at))
    for at, step in enumerate(then.steps or ()):
        yield from _used(step, (*path, "steps", at))
    for at, branch in enumerate(then.one_of or ()):
        yield from _used(branch.then, (*path, "one_of", at, "then"))


# Keys of an answer that take a feature of the dialect.
FEATURE_OF: Mapping[str, str] = {
    "content_filter": "content_filter",
    "annotate": "filter_annotations",
    "refusal": "refusal",
    "annotations": "annotations",
    "items": "items",
    "failed": "failed",
    "embedding": "embedding",
    "moderation": "moderation",
}

# What a dialect without a feature cannot send.
WORDS: Mapping[str, str] = {
    "content_filter": "filtered content",
    "filter_annotations": "severities of filters",
    "refusal": "a refusal",
    "annotations": "annotations",
    "custom_tools": "calls of tools that take free text",
    "items": "items of a response",
    "failed": "an answer that breaks off",
    "embedding": "embeddings",
    "moderation": "moderations",
}
