"""The descriptions of operations, whatever the provider."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.draft import ArtifactDraft, Draft
from mockserver.core.json import Json
from mockserver.core.plan import Artifact
from mockserver.core.seed import Seed

MCP_ANSWER_KEYS = frozenset(
    ("tool_error", "content", "progress", "log", "ask")
)  # keys of `then` that only MCP servers can send


class OperationKind(Struct, frozen=True, kw_only=True):
    """One operation, described for rules, the engine, limits, reports and the command line.

    `names_model`: its requests name a model, which must exist. `is_limited`: it draws from the rate limits.
    `takes_text`: the text of a rule can answer it, except for the `withheld` keys of `then`. `advice` is added to
    messages about keys that cannot answer it. `takes_files`: its requests are forms with files, which may be large.
    """

    name: str
    takes_files: bool = False
    names_model: bool = True
    is_limited: bool = False
    takes_text: bool = True
    withheld: frozenset[str] = frozenset()
    advice: str = ""


ReadFile = Callable[[str], bytes]


class ThenKey(Struct, frozen=True, kw_only=True):
    """A key of `then` that answers operations other than conversations.

    `value` and `doc` are its type and description in a rules file, `beside` are the keys that may go with it, and
    `states` names its value in messages. `compile(value, read_file)` turns the value into what an ArtifactDraft states;
    `read_file(name)` returns the bytes of a file beside the rules. Both raise ValueError for a value that is wrong.
    """

    key: str
    value: Any
    doc: str
    beside: frozenset[str]
    states: str
    example: Json  # the value that reports suggest
    compile: Callable[[Any, ReadFile], Any]


class Conversation(OperationKind, frozen=True, kw_only=True):
    """An operation that asks a model to write; without a rule, the answer is generated.

    `body(text)` is a request that asks a text, without its model, and `body_key` the key that contains the text.
    `continues` names the operation whose stored answers it can continue; if it `needs_previous`, an unknown one is an
    error, even if answers are generated. `may_forget`: it can drop the start of a prompt that is too long. `then` is a
    key of `then` that answers it beside text, and `write(draft)` returns the draft of such an answer; it raises
    ValueError.
    """

    body: Callable[[str], dict[str, Json]]
    body_key: str
    continues: str
    is_limited: bool = True
    needs_previous: bool = False
    may_forget: bool = False
    then: ThenKey | None = None
    write: Callable[[ArtifactDraft], Draft] | None = None

    @property
    def has_tools(self) -> bool:
        """Whether its answers can call tools."""
        return "tool_calls" not in self.withheld


class Origins(Struct, frozen=True):
    """The sources of generated values, times and ids: `now` is in seconds, and `draw_id` draws the artifact's id.

    `fill(schema, text)` returns JSON that satisfies a JSON Schema, as far as possible with values from a text.
    """

    seed: Seed
    now: int
    draw_id: Callable[[], str]
    fill: Callable[[Json, str], str]


class ArtifactKind(OperationKind, frozen=True, kw_only=True):
    """An operation whose successes are artifacts of its own.

    `then` is the key of `then` that answers it; operations may share one. `body(text)` is a request about a text,
    without its model, and `files` are the files in it, by their fields; `model_word` in the name of a model identifies
    the operation if the body does not. `wire` has the keys that clients need in an answer, for `cassette verify`.

    `finish(call, draft, origins)` makes the artifact of a draft, and generates what the draft does not state.
    """

    then: ThenKey
    body: Callable[[str], dict[str, Json]]
    model_word: str
    wire: Mapping[str, Any]
    finish: Callable[[Call, ArtifactDraft, Origins], Artifact]
    files: Mapping[str, Callable[[str], bytes]] = {}
    is_limited: bool = True
    takes_text: bool = False


class ModelListing(OperationKind, frozen=True, kw_only=True):
    """An operation on the models that exist; if it `deletes` one, that of a fine-tuning job is gone."""

    deletes: bool = False
    takes_text: bool = False


class Question(OperationKind, frozen=True, kw_only=True):
    """An operation that asks about a call without wanting its answer; if it is `silent`, nothing is written for it."""

    silent: bool = False
