"""The description of one kind of operation."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.draft import ArtifactDraft
from mockserver.core.json import Json
from mockserver.core.plan import Artifact
from mockserver.core.seed import Seed


class OperationKind(Struct, frozen=True):
    """An operation whose successes are artifacts of its own, for rules, reports and the command line.

    `key` is the key of `then` that answers it, `then_keys` are those that may go with it. `states` names what a rule
    with the key gives. `body(text)` is a request that asks about a text, but for its model; `model_word` in the name of
    a model tells the operation where the body does not. `wire` is what clients need of an answer, as `cassette verify`
    checks it.

    `compile(value)` turns the value of the key into what an ArtifactDraft holds.
    `finish(call, draft, seed, draw_id)` makes the artifact of a draft; what it does not state is generated.
    """

    operation: str
    key: str
    then_keys: frozenset[str]
    states: str
    example: Json  # the value of the key that reports suggest
    form: str  # the value of the key in short, for messages: `[...]`
    body: Callable[[str], dict[str, Json]]
    model_word: str
    wire: Mapping[str, Any]
    compile: Callable[[Any], Any]
    finish: Callable[[Call, ArtifactDraft, Seed, Callable[[], str]], Artifact]
