"""Which operations a rule's answer can be for: texts answer what is generated, vectors embeddings, scores moderations.

Errors and raw bytes answer anything.
"""

from collections.abc import Container, Iterator, Mapping

from mockserver.core.call import Json
from mockserver.core.plan import Failure, Forward, Raw
from mockserver.engine.documents import DOCUMENTS
from mockserver.engine.draft import Draft, Replay, Said, Stated
from mockserver.engine.spec.models import ContentSpec, ThenSpec
from mockserver.engine.then.kinds import keys_of
from mockserver.engine.then.site import Site
from mockserver.engine.when.conditions import All, Condition, implied
from mockserver.engine.when.index import pinned
from mockserver.engine.when.matchers import compile_when
from mockserver.positions import Path

GENERATIVE = ("chat", "completions", "responses")  # what a rule answers that names no operation and no path
ASKED = (*GENERATIVE, *DOCUMENTS)  # what models are asked for; the rest only looks up what there is


def for_its_operations(when: Condition, then: ThenSpec | None) -> Condition:
    """The condition of a rule; one that names no operation and no path is for those that its answer is made for."""
    if when.uses & {"operation", "path"}:
        return when
    purposes = {purpose for _, purpose in _answers(then, ())} if then is not None else set()
    return All((when, _IMPLIED[purposes.pop() if len(purposes) == 1 else "text"]))


def check_operations(when: Condition, then: ThenSpec, site: Site) -> None:
    """Tell `site`, a rule, of an answer that an operation which its condition asks for cannot have."""
    wanted = sorted(map(str, pinned(when, "operation") or ()))
    for path, purpose in _answers(then, ()) if wanted else ():
        other = next((name for name in wanted if not _suits(purpose, name)), None)
        if other is not None:
            able = f"it is for {', '.join(_PURPOSES[purpose])}{_INSTEAD.get(other, '')}"
            site.at("then", *path).refuse_key(f'"{path[-1]}" cannot answer the operation "{other}"; {able}')
    for path, content in _contents(then, ()) if wanted else ():
        for key in _given(content, _NOT_SENT):
            if all(name in _NOT_SENT[key] for name in wanted):
                able = ", ".join(name for name in GENERATIVE if name not in _NOT_SENT[key])
                site.at("then", *path, key).refuse_key(f'the operation "{wanted[0]}" cannot send "{key}"; {able} can')


def misfit(outcome: Said, operation: str) -> str | None:
    """What is wrong with what a rule came to as an answer to an operation, if anything is."""
    match outcome:
        case Failure() | Raw() | Replay() | Forward():
            return None
        case Draft():
            purpose = "text"
        case Stated():
            purpose = "embedding" if isinstance(outcome.document, tuple) else "moderation"
    if _suits(purpose, operation):
        return None
    return f'this rule gives {_WORDS[purpose]}, which cannot answer the operation "{operation}"'


def _suits(purpose: str, operation: str) -> bool:
    return operation not in _WITHOUT_TEXT if purpose == "text" else operation in _PURPOSES[purpose]


def _answers(then: ContentSpec, path: Path) -> Iterator[tuple[Path, str]]:
    """The keys of a `then` that only some operations can be answered with, and what each is."""
    for at, content in _contents(then, path):
        given = _given(content, _PURPOSE_OF)
        if len({_PURPOSE_OF[key] for key in given}) == 1:  # else these are two answers, which is told elsewhere
            yield (*at, given[0]), _PURPOSE_OF[given[0]]


def _contents(then: ContentSpec, path: Path) -> Iterator[tuple[Path, ContentSpec]]:
    """A `then` and those inside it, each with where it stands."""
    yield path, then
    if isinstance(then, ThenSpec):
        for at, step in enumerate(then.steps or ()):
            yield from _contents(step, (*path, "steps", at))
        for at, branch in enumerate(then.one_of or ()):
            yield from _contents(branch.then, (*path, "one_of", at, "then"))


def _given(content: ContentSpec, wanted: Container[str]) -> list[str]:
    """Which of these keys a `then` has."""
    stated = content.model_fields_set
    return [key for key, name in keys_of(type(content)) if name in stated and key in wanted]


def _for(operations: tuple[str, ...]) -> Condition:
    wanted: Json = {"operation": {"in": list(operations)}}
    return implied(compile_when(wanted, lambda message, path: None))


_PURPOSES: Mapping[str, tuple[str, ...]] = {
    "text": GENERATIVE,
    "embedding": ("embeddings",),
    "moderation": ("moderations",),
}
_WORDS: Mapping[str, str] = {"text": "a text", "embedding": "a vector", "moderation": "scores"}
_WITHOUT_TEXT = ("embeddings", "moderations", "models", "model", "info")
_PURPOSE_OF: Mapping[str, str] = {
    **dict.fromkeys(("text", "json", "refusal", "tool_calls", "items", "parts", "choices"), "text"),
    **dict.fromkeys(("generate", "echo", "failed"), "text"),
    "embedding": "embedding",
    "moderation": "moderation",
}
# What an answer to these operations has no place for.
_NOT_SENT: Mapping[str, tuple[str, ...]] = {
    "items": ("chat", "completions"),
    "failed": ("chat", "completions"),
    "tool_calls": ("completions",),
}
_INSTEAD: Mapping[str, str] = {
    "embeddings": "; write embedding: [...]",
    "moderations": "; write moderation: {...}",
}
_IMPLIED: Mapping[str, Condition] = {purpose: _for(operations) for purpose, operations in _PURPOSES.items()}
