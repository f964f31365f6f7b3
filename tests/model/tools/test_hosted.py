"""Uses of the provider's own tools, and the input of tools that take free text."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.call import Call, Grammar, Message, ServerTool, Tool, ToolCall, ToolChoice
from mockserver.core.plan import Item, Text
from mockserver.core.seed import Seed
from mockserver.model.arguments import find_mentions
from mockserver.model.auto import answer_as_model
from mockserver.model.hosted import limit_to_choice, list_allowed, make_hosted_use, write_free_text
from mockserver.wire.responses import ResponseOptions, make_hosted_tool_item
from tests.engine.test_own_tools import OFFICIAL
from tests.kit.calls import call

SIZE = {"display_width": 800, "display_height": 600, "environment": "browser"}


def use(kind: str, conversation: Call, **options: Any) -> Item | None:
    made = make_hosted_use(Tool(kind, kind=kind, options={"type": kind, **options}), conversation, Seed(1))
    if made is not None:
        OFFICIAL.validate_python(make_hosted_tool_item(made, ResponseOptions(), "0"), strict=True)
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
    action = body(kind, text)["action"]
    (source,) = action.pop("sources")
    assert action == {"type": "search", "queries": [query], "query": query}
    assert source["url"].startswith("https://example.com/")


@pytest.mark.parametrize(
    ("text", "searches"),
    [
        ("What happened in San Francisco last week?", True),
        ("What's the latest on the Mars mission?", True),
        ("Who won the Euro 2024?", True),
        ("What is the capital of France?", False),
        ("Hi!", False),
    ],
)
def test_what_is_new_is_searched_and_the_answer_names_its_source(text: str, searches: bool) -> None:
    offered = Tool("web_search", kind="web_search", options={"type": "web_search"})
    *uses, answer = answer_as_model(
        replace(call(text, tool_choice=ToolChoice("auto")), tools=(offered,)), Seed(1), {}
    ).parts
    assert [use.kind for use in uses if isinstance(use, Item)] == ["web_search_call"] * searches
    assert isinstance(answer, Text)
    assert [note["type"] for note in answer.annotations] == ["url_citation"] * searches
    assert all(note["end_index"] == len(answer.text) for note in answer.annotations)


def test_files_are_searched_and_the_dialect_says_what_is_found() -> None:
    found = body("file_search", "Search for holidays", vector_store_ids=["vs_1"])
    assert found == {"queries": ["holidays"], "results": None}


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
    ("text", "runs"),
    [
        ("What is 12 * 13?", True),
        ("Plot a sine wave", True),
        ("Calculate the mean of these", True),
        ("Explain this python code", False),
        ("Write a poem about python", False),
    ],
)
def test_code_is_run_for_what_it_is_good_for(text: str, runs: bool) -> None:
    offered = Tool("code_interpreter", kind="code_interpreter", options={"type": "code_interpreter"})
    parts = answer_as_model(replace(call(text, tool_choice=ToolChoice("auto")), tools=(offered,)), Seed(1), {}).parts
    assert [part.kind for part in parts if isinstance(part, Item)] == ["code_interpreter_call"] * runs


def test_images_are_as_they_are_wanted() -> None:
    made = use("image_generation", call("Draw a  cat"), size="1024x1024", quality="auto", background="opaque")
    assert made is not None
    asked = {"revised_prompt": "Draw a cat", "size": "1024x1024", "background": "opaque"}
    assert made.body == {**asked, "result": ""}  # which is painted when the answer is made


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


@pytest.mark.parametrize(
    "kind", ["web_search", "code_interpreter", "shell", "apply_patch", "computer_use_preview", "mcp"]
)
@pytest.mark.parametrize("char", ["'", '"', "`", "(", "1", " ", "a.", "/", "1+", "search "])
def test_long_prompts_are_read_in_part(kind: str, char: str) -> None:
    assert len(str(use(kind, call(char * 200_000)))) < 20_000


NAMED = {"allowed_tools": ["read_wiki", "ask_question"]}
REQUEST = Message("assistant", tool_calls=(ToolCall("mcpr_1", "ask_question", "{}", "mcp_approval_request"),))


def use_of_mcp(conversation: Call, **options: Any) -> Item | None:
    return make_hosted_use(Tool("mcp", kind="mcp", options={"server_label": "wiki", **options}), conversation, Seed(1))


def test_a_server_of_unknown_tools_is_only_listed_once() -> None:
    listed = use_of_mcp(call("hello"))
    assert listed == Item("mcp_list_tools", {"server_label": "wiki", "tools": []})
    done = Message("assistant", parts=({"type": "mcp_list_tools", "server_label": "wiki"},))
    assert use_of_mcp(call("hello", done)) is None


@pytest.mark.parametrize(
    ("servers", "tools"),
    [
        ((), ["a", "b"]),
        ((("wiki", ""),), ["a", "b"]),
        ((("wiki", "b"),), ["b"]),
        ((("wiki", "b"), ("wiki", "")), ["a", "b"]),
        ((("other", "b"),), None),
    ],
)
def test_a_choice_means_a_server_or_one_of_its_tools(
    servers: tuple[tuple[str, str], ...], tools: list[str] | None
) -> None:
    server = Tool("mcp", kind="mcp", options={"server_label": "wiki", "allowed_tools": ["a", "b"]})
    found = limit_to_choice(server, ToolChoice("named", ("mcp",), tuple(ServerTool(*each) for each in servers)))
    assert (found and list_allowed(found)) == tools
    assert limit_to_choice(
        Tool("web_search"), ToolChoice("required", (), tuple(ServerTool(*each) for each in servers))
    ) == Tool("web_search")


def test_a_tool_that_needs_no_approval_is_called() -> None:
    made = use_of_mcp(call("ask a question"), require_approval="never", **NAMED)
    assert made is not None
    assert made.kind == "mcp_call"
    assert (made.body["name"], made.body["arguments"]) == ("ask_question", '{"query": "ask a question"}')
    assert made.body["output"]
    done = Message("assistant", parts=({"type": "mcp_call", "server_label": "wiki"},))
    assert use_of_mcp(call("ask a question", done), require_approval="never", **NAMED) is None


@pytest.mark.parametrize(
    ("required", "kind"),
    [
        (None, "mcp_approval_request"),
        ("always", "mcp_approval_request"),
        ({"never": {"tool_names": ["read_wiki"]}}, "mcp_call"),
        ({"always": {"tool_names": ["read_wiki"]}}, "mcp_approval_request"),
        ({"never": {"tool_names": ["ask_question"]}}, "mcp_approval_request"),
    ],
)
def test_approval_is_asked_for_where_it_is_required(required: Any, kind: str) -> None:
    made = use_of_mcp(
        call("read the wiki"), require_approval=required, allowed_tools={"tool_names": NAMED["allowed_tools"]}
    )
    assert made is not None
    assert (made.kind, made.body["name"]) == (kind, "read_wiki")


@pytest.mark.parametrize(("answer", "kind"), [('{"approve":true}', "mcp_call"), ('{"approve":false}', None)])
def test_what_the_user_says_to_it_is_heeded(answer: str, kind: str | None) -> None:
    made = use_of_mcp(call("ask", REQUEST, Message("tool", answer, tool_call_id="mcpr_1")), **NAMED)
    assert (made and made.kind) == kind


SCREEN = {"display_width": 640, "display_height": 480}
LOOK = {"type": "screenshot"}


def step(conversation: Call, kind: str = "computer_use_preview") -> Any:
    tool = Tool(kind, kind=kind, options={"type": kind, **SCREEN})
    made = make_hosted_use(tool, conversation, Seed(2))
    return made.body if made else None


def steps(*said: str | Message) -> list[Any]:
    """The actions of a loop, up to its end."""
    conversation, taken = list(said), list[Any]()
    while (body := step(call(*conversation))) is not None:
        taken.append(body["action"])
        made = ToolCall(f"call_{len(taken)}", "computer_use_preview", json.dumps(body["action"]), "computer_call")
        conversation += [Message("assistant", tool_calls=(made,)), Message("tool", tool_call_id=made.id)]
    return taken


def done(text: str) -> list[Any]:
    """The same without places that were drawn."""
    drawn = [{key: value for key, value in each.items() if key not in ("x", "y")} for each in steps(text)]
    assert drawn[0] == LOOK
    return drawn[1:]


CLICK = {"type": "click", "button": "left"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Click the button", [CLICK]),
        ("What is on the screen?", [CLICK]),
        ("Take a screenshot", []),
        ('Type "click here" into the box', [{"type": "type", "text": "click here"}]),
        ("", [CLICK]),
    ],
)
def test_it_looks_does_what_is_asked_and_ends(text: str, expected: list[Any]) -> None:
    assert done(text) == expected


def test_places_are_on_the_screen() -> None:
    assert steps("click (100, 200)")[1] == {**CLICK, "x": 100, "y": 200}
    assert steps("click at 9000, 9000")[1] == {**CLICK, "x": 639, "y": 479}
    drawn = steps("click it")[1]
    assert 0 < drawn["x"] < 640
    assert 0 < drawn["y"] < 480


def test_nothing_is_done_twice() -> None:
    looked = Message(
        "assistant", tool_calls=(ToolCall("1", "computer_use_preview", '{"type":"screenshot"}', "computer_call"),)
    )
    taken = steps("hello", looked, Message("tool", tool_call_id="1"), Message("user", "click (5, 5)"))
    assert taken == [{**CLICK, "x": 5, "y": 5}]


def test_newer_computers_take_lists_of_actions() -> None:
    body = step(call("click"), "computer")
    assert body == {"call_id": "", "actions": [LOOK], "pending_safety_checks": []}


TOOL = Tool("run_code", kind="custom")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Run this:\n```python\nprint(1)\n```", "print(1)"),
        ("run `ls -l` please", "ls -l"),
        ('Use run_code with "1 + 1".', "1 + 1"),
        ("Use run_code to add one and two", "add one and two"),
        ("Please run: 1 + 1", "1 + 1"),
    ],
)
def test_it_is_what_was_said_for_it(said: str, text: str) -> None:
    assert write_free_text(TOOL, find_mentions(said), Seed()) == text


def test_a_grammar_is_kept() -> None:
    ruled = Tool("pick", kind="custom", grammar=Grammar("regex", "red|green"))
    assert write_free_text(ruled, find_mentions("make it green"), Seed()) == "green"
