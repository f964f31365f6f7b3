"""Uses of the provider's own tools: short forms spelt out, and every key that the API requires."""

import pytest
from openai.types.responses import ResponseOutputItem
from pydantic import TypeAdapter

from mockserver.core.hosted_tools import BODIES, make_item
from mockserver.core.json import Json
from mockserver.core.plan import Item

OFFICIAL = TypeAdapter(ResponseOutputItem)
SHORT: dict[str, dict[str, Json]] = {
    "web_search_call": {"query": "q"},
    "file_search_call": {"query": "q"},
    "code_interpreter_call": {"code": "1"},
    "image_generation_call": {},
    "computer_call": {"action": {"type": "click", "x": 1, "y": 2}},
    "mcp_call": {"server_label": "s", "name": "n"},
    "mcp_list_tools": {"server_label": "s", "tools": [{"name": "n"}]},
    "mcp_approval_request": {"server_label": "s", "name": "n"},
    "local_shell_call": {"command": ["ls"]},
    "shell_call": {"commands": ["ls"]},
    "shell_call_output": {"output": [{"stdout": "a"}]},
    "apply_patch_call": {"operation": {"type": "create_file", "path": "a"}},
    "apply_patch_call_output": {"output": "done"},
}


@pytest.mark.parametrize("kind", BODIES)
def test_short_forms_become_items(kind: str) -> None:
    made = make_item(kind, SHORT[kind])
    stated = {"id": "x", "type": kind, "status": "completed", "result": None, **made.body}
    read = OFFICIAL.validate_python(stated)
    assert type(read).__name__ != "dict"


def test_how_it_ended_and_its_pieces_are_kept() -> None:
    made = make_item("code_interpreter_call", {"code": "1", "status": "failed"}, chunks=2)
    body = {"code": "1", "container_id": "", "outputs": None, "status": "failed"}
    assert made == Item("code_interpreter_call", body, 2)
