"""What a conversation is made of, in no provider's shape: messages, the tools that are offered, and calls of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mockserver.core.json_text import Json
from mockserver.core.tokens import Tokenizer

# Calls of the provider's own tools that the client carries out: the tool's name, and the key of what it is asked.
CARRIED_OUT: Mapping[str, tuple[str, str]] = {
    "computer_call": ("computer_use_preview", "action"),
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool; `arguments` stays the string that the wire carries."""

    id: str
    name: str
    arguments: str
    kind: str = "function"  # or "custom", whose arguments are free text, "bare" (see Call), or a key of CARRIED_OUT


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation; `text` is joined from the text parts, `parts` holds the others."""

    role: str
    text: str = ""
    parts: tuple[Mapping[str, Json], ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the client offers; `parameters` is a JSON Schema, or None when it takes nothing."""

    name: str
    description: str = ""
    parameters: Json = None
    kind: str = "function"  # or "custom", which takes free text, or the type of one of the provider's own
    strict: bool = False
    grammar: tuple[str, str] | None = None  # of a custom tool's text: syntax (lark or regex) and definition
    options: Mapping[str, Json] = field(default_factory=dict)  # how the client describes one of the provider's own


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text to go on from, to embed or to judge; `numbers` are its tokens, where the client sent these instead."""

    text: str
    numbers: tuple[int, ...] | None = None

    def tokens(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """The tokens of the prompt."""
        return tokenizer.split(self.text) if self.numbers is None else tokenizer.read(self.numbers)

    def count(self, tokenizer: Tokenizer) -> int:
        """How many tokens the prompt has."""
        return tokenizer.count(self.text) if self.numbers is None else len(self.numbers)
