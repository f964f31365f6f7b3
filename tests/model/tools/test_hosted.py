"""Uses of the provider's own tools that nobody wrote a rule for."""

from base64 import b64decode
from typing import Any

import pytest

from mockserver.core.call import Call, Message, Tool, ToolCall
from mockserver.core.plan import Item
from mockserver.core.seed import Seed
from mockserver.model.tools.hosted import hosted_use
from mockserver.wire.responses import ResponseOptions, hosted_tool_item
from tests.engine.test_own_tools import OFFICIAL
from tests.kit.calls import call

SIZE = {"display_width": 800, "display_height": 600, "environment": "browser"}


def use(kind: str, conversation: Call, **options: Any) -> Item | None:
    made = hosted_use(Tool(kind, kind=kind, options={"type": kind, **options}), conversation, Seed(1))
    if made is not None:
        OFFICIAL.validate_python(hosted_tool_item(made, ResponseOptions(), "0"), strict=True)
    return made


def body(kind: str, text: str, **options: Any) -> Any:
    made = use(kind, call(text), **options)
    assert made is not None
    return made.body


@pytest.mark.parametrize("kind", ["web_search", "web_search_preview", "web_search_2025_08_26"])
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Search the web for fjords in Norway.", "fjords in Norway"),
        ("Who won the cup in 2022?", "Who won the cup in 2022"),
        ("look up `uvloop`", "uvloop"),
        ("", "news"),
    ],
)
def test_searches_are_for_what_is_asked(kind: str, text: str, query: str) -> None:
    assert body(kind, text) == {"action": {"type": "search", "queries": [query], "query": query, "sources": []}}


def test_files_are_searched_and_nothing_is_found() -> None:
    found = body("file_search", "Search our files for holidays", vector_store_ids=["vs_1"])
    assert found == {"queries": ["holidays"], "results": []}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("What is 12 * (3 + 4)?", "print(12 * (3 + 4))"),
        ("run ```python\nx = 1\nprint(x)\n```", "x = 1\nprint(x)"),
        ("the mean of 4, -8 and 1.5", "numbers = [4, -8, 1.5]\nprint(sum(numbers))"),
        ("plot it", "print('done')"),
    ],
)
def test_code_computes_what_is_asked(text: str, code: str) -> None:
    assert body("code_interpreter", text, container={"type": "auto"})["code"] == code
    compile(code, "code", "exec")


@pytest.mark.parametrize(
    ("kind", "include", "shown"),
    [
        ("web_search", "web_search_call.action.sources", lambda item: item["action"]["sources"]),
        ("file_search", "file_search_call.results", lambda item: item["results"]),
        ("code_interpreter", "code_interpreter_call.outputs", lambda item: item["outputs"]),
    ],
)
def test_what_is_included_is_a_list(kind: str, include: str, shown: Any) -> None:
    made = use(kind, call("find it"))
    assert made is not None
    assert shown(hosted_tool_item(made, ResponseOptions(include=frozenset({include})), "0")) == []


def test_a_container_that_is_named_is_used() -> None:
    assert body("code_interpreter", "1 + 1", container="cntr_mine")["container_id"] == "cntr_mine"


def test_images_are_tiny_and_as_they_are_wanted() -> None:
    made = use("image_generation", call("Draw a  cat"), size="1024x1024", quality="auto", background="opaque")
    assert made is not None
    asked = {"revised_prompt": "Draw a cat", "size": "1024x1024", "background": "opaque"}
    assert {key: made.body[key] for key in made.body if key != "result"} == asked
    assert b64decode(hosted_tool_item(made, ResponseOptions(), "0")["result"]).startswith(b"\x89PNG")


@pytest.mark.parametrize(("text", "command"), [("What is here?", "ls"), ("Please run `pytest -q` now", "pytest -q")])
def test_commands(text: str, command: str) -> None:
    assert body("local_shell", text)["action"] == {"type": "exec", "env": {}, "command": ["bash", "-lc", command]}
    assert body("shell", text)["action"]["commands"] == [command]


def test_a_shell_in_a_container_is_the_providers_own() -> None:
    assert use("shell", call("run `ls`"), environment={"type": "container_auto"}) is None


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("Make src/a.py with `x = 1`", {"type": "create_file", "path": "src/a.py", "diff": "+x = 1\n"}),
        ("Delete old.txt", {"type": "delete_file", "path": "old.txt"}),
        ("note it", {"type": "create_file", "path": "notes.txt", "diff": "+Hello.\n"}),
    ],
)
def test_patches(text: str, operation: dict[str, str]) -> None:
    assert body("apply_patch", text)["operation"] == operation


@pytest.mark.parametrize("kind", ["tool_search", "programmatic_tool_calling", "namespace", "new_tool"])
def test_of_other_tools_nothing_is_known(kind: str) -> None:
    assert use(kind, call("hello")) is None


@pytest.mark.parametrize(
    ("tool", "kind"),
    [("web_search", "web_search_call"), ("code_interpreter", "code_interpreter_call"), ("shell", "shell_call")],
)
def test_each_is_used_once_since_the_user_spoke(tool: str, kind: str) -> None:
    own = kind == "shell_call"
    parts, calls = ((), (ToolCall("1", "shell", "{}", kind),)) if own else (({"type": kind},), ())
    used = Message("assistant", parts=parts, tool_calls=calls)
    assert use(tool, call("find it", used)) is None
    assert use(tool, call("find it", used, "and again")) is not None


def test_the_computer_and_mcp_servers_are_known() -> None:
    looked = use("computer_use_preview", call("click"), **SIZE)
    assert looked is not None
    assert looked.kind == "computer_call"
    listed = use("mcp", call("hello"), server_label="wiki")
    assert listed is not None
    assert listed.kind == "mcp_list_tools"


@pytest.mark.parametrize(
    "kind", ["web_search", "code_interpreter", "shell", "apply_patch", "computer_use_preview", "mcp"]
)
@pytest.mark.parametrize("char", ["'", '"', "`", "(", "1", " ", "a.", "/", "1+", "search "])
def test_long_prompts_are_read_in_part(kind: str, char: str) -> None:
    assert len(str(use(kind, call(char * 200_000)))) < 20_000
