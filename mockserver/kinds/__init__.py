"""What operations are, whatever the provider: one module describes each kind.

A dialect adds the wire format of a kind, and lists its operations. Everything else that needs to know what an operation
is (rules, the engine, limits, reports, commands) looks it up here.
"""

from collections.abc import Mapping
from typing import TypeVar

from mockserver.core.call import OTHER, WEBSOCKET
from mockserver.kinds import (
    audio,
    chats,
    completions,
    embeddings,
    images,
    kept,
    mcp,
    models,
    moderations,
    ocr,
    realtime,
    rerank,
    responses,
    search,
    tokenization,
)
from mockserver.kinds.kind import ArtifactKind, Conversation, OperationKind, Question, ThenKey
from mockserver.kinds.mcp import McpOperation
from mockserver.kinds.objects import Creation, LookUp
from mockserver.kinds.stored_answers import AnswerLookUp

KINDS = (
    chats,
    completions,
    responses,
    embeddings,
    moderations,
    images,
    audio,
    ocr,
    rerank,
    search,
    tokenization,
    models,
    kept,
    mcp,
    realtime,
)

Kind = TypeVar("Kind", bound=OperationKind)
_OPENING = OperationKind(
    name=WEBSOCKET, names_model=False, takes_text=False, advice="; a rule refuses it, with error or raw"
)
_UNKNOWN_PATH = OperationKind(name=OTHER, names_model=False, takes_text=False)  # no dialect knows it; stubs answer it


def _select(kind: type[Kind]) -> Mapping[str, Kind]:
    return {name: operation for name, operation in OPERATIONS.items() if isinstance(operation, kind)}


OPERATIONS: Mapping[str, OperationKind] = {
    operation.name: operation
    for operation in (*[each for kind in KINDS for each in kind.OPERATIONS], _OPENING, _UNKNOWN_PATH)
}
CONVERSATIONS = _select(Conversation)
ARTIFACTS = _select(ArtifactKind)
LOOK_UPS = _select(LookUp)
ANSWER_LOOK_UPS = _select(AnswerLookUp)
CREATIONS = _select(Creation)
_STATED: tuple[ArtifactKind | Creation | Conversation, ...] = (
    *ARTIFACTS.values(),
    *CREATIONS.values(),
    *CONVERSATIONS.values(),
)
THEN_KEYS: Mapping[str, ThenKey] = {kind.then.key: kind.then for kind in _STATED if kind.then is not None}
QUESTIONS = _select(Question)


def list_answered(key: str) -> tuple[str, ...]:
    """Return the operations that a key of `then` answers."""
    return tuple([kind.name for kind in _STATED if kind.then is not None and kind.then.key == key])


SERVED = tuple(name for name, kind in _select(McpOperation).items() if not kind.is_session)  # by MCP servers
ASKED = frozenset((*CONVERSATIONS, *ARTIFACTS, *SERVED))  # operations that rules are for; others look something up
