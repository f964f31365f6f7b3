"""An answer read from any wire format: its choices, usage and error."""

from collections.abc import Mapping

from msgspec import Struct

from mockserver.core.json import Json
from mockserver.core.plan import Usage

Table = Mapping[str, Json]


class ParsedToolCall(Struct, frozen=True):
    """A call of a tool; `text` is its arguments, or the input of a custom tool."""

    name: str
    text: str
    custom: bool = False
    namespace: str = ""


class ParsedPart(Struct, frozen=True):
    """A part of a choice: with a text, a call or, of a provider's own tools, an item."""

    kind: str  # reasoning | text | refusal | call | item
    text: str = ""
    call: ParsedToolCall | None = None
    item: Table | None = None


class ParsedChoice(Struct, frozen=True):
    """One choice: its parts in wire order, and why it ended, in the words of chat completions."""

    parts: tuple[ParsedPart, ...] = ()
    finish: str = ""
    annotations: tuple[Table, ...] = ()
    filters: Table | None = None

    def join_texts(self, kind: str) -> str:
        """Return the texts of the parts of a kind as one."""
        return "".join(part.text for part in self.parts if part.kind == kind)

    @property
    def calls(self) -> tuple[ParsedToolCall, ...]:
        return tuple(part.call for part in self.parts if part.call is not None)


class ParsedResponse(Struct, frozen=True):
    """An answer.

    `error` is the content of an error's envelope, `body` the whole error. A `broken` answer failed after it had begun;
    a `complete` one has its last event, or is not streamed. The prompt of a `blocked` one was filtered.
    """

    choices: tuple[ParsedChoice, ...] = ()
    status: int = 200
    model: str = ""
    usage: Table | None = None
    error: Json = None
    body: Json = None
    broken: bool = False
    complete: bool = True
    prompt_filters: Table | None = None
    blocked: bool = False


def read_table(value: Json) -> Table:
    """Return the value if it is a table, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def read_rows(value: Json) -> list[Table]:
    """Return the tables of a list; none if the value is not a list."""
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def read_text(value: Json) -> str:
    """Return the value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def read_number(value: Json, default: int) -> int:
    """Return the value if it is a whole number, else a default."""
    return value if isinstance(value, int) else default


def read_usage(counts: Table) -> Usage:
    """Return the tokens of an answer from the table in which its provider states them.

    Anthropic's and Bedrock's `input_tokens` are without those that were read from a cache or written into it.
    """
    details = read_table(counts.get("prompt_tokens_details") or counts.get("input_tokens_details"))
    read, written = (counts.get(f"cache_{way}_input_tokens") for way in ("read", "creation"))
    beside = read_number(read, 0) + read_number(written, 0)
    cached = read_number(details.get("cached_tokens", counts.get("cached_tokens")), 0)
    prompt = read_number(counts.get("prompt_tokens", counts.get("input_tokens")), 0)
    thought = read_number(counts.get("reasoning_tokens"), 0)  # Gemini counts them beside the answer
    completion = read_number(counts.get("completion_tokens", counts.get("output_tokens")), 0)
    return Usage(prompt + beside, completion + thought, reasoning=thought, cached=cached or read_number(read, 0))
