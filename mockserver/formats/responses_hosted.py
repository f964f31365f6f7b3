"""The provider's own tools: for each kind of use what is shown only on request, and its events by name.

A table. Knows neither answers nor frames: `responses_items.py` makes items of it, `responses_steps.py` events.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mockserver.core.call import Json


@dataclass(frozen=True, slots=True)
class Phase:
    """An event that says only how far the item is; `failed` is its name where the item failed (empty: no event)."""

    name: str
    failed: str | None = None


@dataclass(frozen=True, slots=True)
class Typed:
    """A string of the item that comes in pieces: `response.<event>.delta`, then `.done` with the whole under `key`."""

    key: str
    event: str


@dataclass(frozen=True, slots=True)
class Previews:
    """The images that come before an image is ready, as many as the request's tool asks for."""


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands of a shell call, one after the other."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What each command of a shell call printed."""


Stage = Phase | Typed | Previews | Commands | Printed


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of item."""

    prefix: str  # of the item's id
    blank: Mapping[str, Json] = field(default_factory=dict)  # what stands while the item is in progress
    shown: Mapping[str, str] = field(default_factory=dict)  # path of a key -> the `include` that shows it
    stages: tuple[Stage, ...] = ()
    status: bool = True  # whether the item has a status


def kind_of(name: str) -> Kind:
    """The row of a kind; of one that is not in the table, a plain one."""
    return KINDS.get(name, _ANY)


_DONE = Phase("completed", failed="")
_DONE_OR_FAILED = Phase("completed", failed="failed")
_SEARCH = (Phase("in_progress"), Phase("searching"), _DONE)
_ANY = Kind("it")

KINDS: Mapping[str, Kind] = {
    "web_search_call": Kind(
        "ws",
        shown={"action.sources": "web_search_call.action.sources", "results": "web_search_call.results"},
        stages=_SEARCH,
    ),
    "file_search_call": Kind(
        "fs", blank={"results": None}, shown={"results": "file_search_call.results"}, stages=_SEARCH
    ),
    "code_interpreter_call": Kind(
        "ci",
        blank={"code": "", "outputs": None},
        shown={"outputs": "code_interpreter_call.outputs"},
        stages=(
            Phase("in_progress"),
            Typed("code", "code_interpreter_call_code"),
            Phase("interpreting"),
            _DONE,
        ),
    ),
    "image_generation_call": Kind(
        "ig", blank={"result": None}, stages=(Phase("in_progress"), Phase("generating"), Previews(), _DONE)
    ),
    "mcp_call": Kind(
        "mcp",
        blank={"arguments": "", "error": None, "output": None},
        stages=(Phase("in_progress"), Typed("arguments", "mcp_call_arguments"), _DONE_OR_FAILED),
    ),
    "mcp_list_tools": Kind(
        "mcpl", blank={"tools": [], "error": None}, stages=(Phase("in_progress"), _DONE_OR_FAILED), status=False
    ),
    "mcp_approval_request": Kind("mcpr", status=False),
    "computer_call": Kind("cu"),
    "local_shell_call": Kind("lsh"),
    "shell_call": Kind("sh", blank={"action": {"commands": []}}, stages=(Commands(),)),
    "shell_call_output": Kind("sho", stages=(Printed(),)),
    "apply_patch_call": Kind("apc"),
    "apply_patch_call_output": Kind("apco", blank={"status": "completed"}),
    "compaction": Kind("cmp", stages=(Phase("compacting"),), status=False),
}
