"""Work grows no faster than what a client sends: the steps for n and 2n, of inputs that are meant to blow up."""

import cProfile
from collections.abc import Callable, Sequence
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mockserver.config.yaml_reader import parse
from mockserver.core.call import Call, Grammar, Message, Tool, ToolChoice
from mockserver.core.seed import Seed
from mockserver.engine.generation import make_generator
from mockserver.model.budget import STEPS, AnswerWork, spend
from mockserver.model.listed_options import list_options
from tests.kit.calls import call

ANY = ToolChoice("required")
STRING = {"type": "string"}
CITY = {"type": "object", "properties": {"city": STRING, "date": STRING}, "required": ["city"]}
ASKED = "What is the weather in Oslo on Monday? "


def steps(work: Callable[[], object]) -> int:
    """How many functions are called, in Python and in C."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())


def answering(asked: Call) -> Callable[[], object]:
    return lambda: make_generator(asked, Seed("0"))("auto", {}, 0)


def tools(names: Sequence[str], *said: str | Message, about: str = "", choice: ToolChoice = ANY) -> Call:
    offered = tuple(Tool(name, about, CITY) for name in names)
    return replace(call(*(said or (ASKED * 200,)), tool_choice=choice), tools=offered)


def named(n: int) -> Call:
    orders = Message("system", "\n".join(f"Use tool-{at} when the user asks for {at}." for at in range(n)))
    return tools([f"tool-{at}" for at in range(n)], orders, ASKED)


def always(n: int) -> Call:
    orders = Message("system", "You must call " + ", ".join(f"tool-{at}" for at in range(n)) + ".")
    return tools([f"tool-{at}" for at in range(n)], orders, ASKED)


def wide(n: int) -> Call:
    schema = {"type": "object", "properties": {f"weather_{at}": STRING for at in range(n)}}
    return replace(call(ASKED * 50, tool_choice=ANY), tools=(Tool("get_weather", "Weather.", schema),))


def optional(n: int) -> Call:
    grammar = Grammar("lark", "start: " + " ".join(f'"p{at}"?' for at in range(n)))
    return replace(call(ASKED, tool_choice=ANY), tools=(Tool("x", kind="custom", grammar=grammar),))


KINDS: dict[str, tuple[Callable[[int], Call], int]] = {
    "names that differ by a number": (lambda n: tools([f"tool_{at}" for at in range(n)]), 500),
    "names that all fit": (lambda n: tools([f"get_weather_{at}" for at in range(n)]), 500),
    "descriptions that all fit": (lambda n: tools([f"t{at}" for at in range(n)], about="weather in Oslo"), 500),
    "none fits": (lambda n: tools([f"thing_{at}" for at in range(n)], "Hm."), 500),
    "tools that the system prompt names": (named, 250),
    "tools that are always called": (always, 250),
    "properties of a tool": (wide, 500),
    "optional parts of a grammar": (optional, 500),
    "clauses": (lambda n: tools(["get_weather", "send_mail"], "Send the weather, mail Oslo. " * n), 500),
    "results": (lambda n: call(*[Message("user", ASKED), Message("assistant", "Rain.")] * n, "And?"), 500),
}


@pytest.mark.parametrize("kind", KINDS)
def test_twice_as_much_takes_about_twice_the_steps(kind: str) -> None:
    make, n = KINDS[kind]
    answering(make(8))()  # word lists are read
    once, twice = (steps(answering(make(size))) for size in (n, 2 * n))
    assert twice < 2.6 * once + 50_000


@settings(max_examples=8, deadline=None)
@given(
    words=st.lists(st.sampled_from(["get", "weather", "send", "mail", "oslo", "tool"]), min_size=1, max_size=4),
    joint=st.sampled_from(["_", "-", "."]),
    said=st.sampled_from([ASKED, "Send mail. ", "Use get-weather-1, then tool_2. ", "don't send mail, ", "tool "]),
)
def test_tools_and_prompts_of_the_same_words(words: list[str], joint: str, said: str) -> None:
    def make(n: int) -> Call:
        return tools([joint.join([*words, str(at)]) for at in range(n)], Message("system", said * n), said * n)

    answering(make(8))()
    once, twice = (steps(answering(make(size))) for size in (60, 120))
    assert twice < 3 * once + 150_000


def test_a_long_word_is_searched_for_options_once() -> None:
    def measure(letters: int) -> float:
        began = process_time()
        list_options.__wrapped__("a" * letters)
        return process_time() - began

    once, four_times = (min(measure(letters) for _ in range(5)) for letters in (1_000, 4_000))
    assert four_times < 8 * once  # sixteen times, if it is read again from each of its letters


def test_yaml_is_read_up_to_its_limit() -> None:
    assert steps(lambda: parse("- a\n" * 20_000, most=1_000)) < 20_000
    assert parse("[a, b]", most=2)[2] == [("this has more than 2 values; split it", 0, 4)]
    assert not parse("[a, b]", most=3)[2]


def test_what_is_spent_is_left_out_and_another_choice_has_its_own() -> None:
    budget = AnswerWork()
    with budget:
        assert spend(STEPS)
        assert not spend(1)
    with budget:
        assert spend(1)
    assert budget.spent == STEPS + 1
    assert spend(10 * STEPS)  # nothing bounds what is no answer to a client
