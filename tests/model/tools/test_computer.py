"""A computer, step by step."""

import json
from typing import Any

import pytest

from mockserver.core.call import Call, Message, Tool, ToolCall
from mockserver.core.seed import Seed
from mockserver.model.tools.hosted import Screen, actions, hosted_use
from tests.kit.calls import call

SCREEN = {"display_width": 640, "display_height": 480}
LOOK = {"type": "screenshot"}


def step(conversation: Call, kind: str = "computer_use_preview") -> Any:
    tool = Tool(kind, kind=kind, options={"type": kind, **SCREEN})
    made = hosted_use(tool, conversation, Seed(2))
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
        ("type hello and press Enter", [{"type": "type", "text": "hello"}, {"type": "keypress", "keys": ["ENTER"]}]),
        ("press ctrl + c", [{"type": "keypress", "keys": ["CTRL", "C"]}]),
        ("Press the save button", [CLICK]),
        ("scroll down", [{"type": "scroll", "scroll_x": 0, "scroll_y": 240}]),
        ("scroll up 300 pixels, then wait", [{"type": "scroll", "scroll_x": 0, "scroll_y": -300}, {"type": "wait"}]),
        ("double-click the icon", [{"type": "double_click"}]),
        ("right click it", [{"type": "click", "button": "right"}]),
        ("hover over it", [{"type": "move"}]),
        (
            "go to https://example.com/a.",
            [
                {"type": "keypress", "keys": ["CTRL", "L"]},
                {"type": "type", "text": "https://example.com/a"},
                {"type": "keypress", "keys": ["ENTER"]},
            ],
        ),
        ("Search for fjords", [CLICK, {"type": "type", "text": "fjords"}, {"type": "keypress", "keys": ["ENTER"]}]),
        ("", [CLICK]),
    ],
)
def test_it_looks_does_what_is_asked_and_ends(text: str, expected: list[Any]) -> None:
    assert done(text) == expected


def test_places_are_on_the_screen() -> None:
    assert steps("click (100, 200)")[1] == {**CLICK, "x": 100, "y": 200}
    assert steps("click at 9000, 9000")[1] == {**CLICK, "x": 639, "y": 479}
    for number in range(50):
        place = Screen.of(SCREEN, Seed(number).stream("x")).somewhere()
        assert 0 < place["x"] < 640
        assert 0 < place["y"] < 480


def test_dragging_follows_the_places_that_are_given() -> None:
    [drag] = actions("drag from 10, 20 to 30,40", Screen.of(SCREEN, Seed(0).stream("x")))
    assert drag == {"type": "drag", "path": [{"x": 10, "y": 20}, {"x": 30, "y": 40}]}
    [somewhere] = actions("drag it", Screen.of({}, Seed(0).stream("x")))
    assert len(somewhere["path"]) == 2


def test_nothing_is_done_twice() -> None:
    assert [each["type"] for each in steps("click 5,5, click 5,5 and wait")] == ["screenshot", "click", "wait"]


def test_who_has_looked_need_not_look_again() -> None:
    looked = Message(
        "assistant", tool_calls=(ToolCall("1", "computer_use_preview", '{"type":"screenshot"}', "computer_call"),)
    )
    taken = steps("hello", looked, Message("tool", tool_call_id="1"), Message("user", "now scroll down"))
    assert [each["type"] for each in taken] == ["scroll"]


def test_the_computer_of_the_guides_takes_one_action() -> None:
    assert step(call("click"), "computer_use")["action"] == {"type": "screenshot"}


def test_newer_computers_take_lists_of_actions() -> None:
    body = step(call("click"), "computer")
    assert body == {"call_id": "", "actions": [LOOK], "pending_safety_checks": []}
