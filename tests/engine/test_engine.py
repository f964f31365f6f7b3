"""Rules first, then what is generated; models, counters and ids."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.call import Call, Message, Options, Prompt
from mockserver.core.draft import Draft
from mockserver.core.episode import Recorded
from mockserver.core.http import HttpRequest
from mockserver.core.seed import Seed
from mockserver.engine.engine import Engine
from mockserver.engine.generation import generate_draft
from mockserver.engine.memory import Memory
from mockserver.engine.planning import plan_call
from mockserver.engine.rule_set import FEW_RULES
from mockserver.model.budget import RequestWork
from mockserver.server.compose import start
from mockserver.server.sources import Sources
from mockserver.state.in_memory import MemoryCounters, MemoryValueStore
from tests.kit import calls
from tests.kit.cassette_folder import CHAT, HEADERS, Folder, chat, episode, folder
from tests.kit.local import Answered, Local, local

BODY = "/v1/chat/completions"
TWO = """
rules:
  - name: first
    when: {last_user: "*a*"}
    then: {text: one}
  - name: second
    when: {last_user: "*b*"}
    then: {text: two}
"""


def ask(server: Local, text: str, *, namespace: str = "default", **more: object) -> Answered:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **more}
    return server.ask(BODY, body, namespace=namespace)


def said(answered: Answered) -> str:
    content: str = answered.json["choices"][0]["message"]["content"]
    return content


def several(prompts: int) -> Call:
    texts = [str(number) for number in range(prompts)]
    return Call(
        dialect="openai",
        operation="embeddings",
        model="m",
        http=HttpRequest("POST", "/embeddings"),
        meaning={"input": texts},
        messages=tuple(Message("user", text) for text in texts),
        prompts=tuple(Prompt(text) for text in texts),
    )


@pytest.mark.parametrize(("text", "answer"), [("a", "one"), ("b", "two"), ("ab", "one")])
def test_the_first_rule_that_holds_answers(text: str, answer: str) -> None:
    assert said(ask(local(TWO), text)) == answer


def test_the_source_names_file_line_and_rule() -> None:
    source = ask(local(TWO), "b").source
    assert source.startswith("rule ")
    assert source.endswith("rules.yaml:6 second")


def test_without_a_rule_prose_is_generated() -> None:
    answered = ask(local(TWO), "c")
    assert answered.source == "generated"
    assert len(said(answered)) > 40


def test_prose_follows_from_the_seed_and_the_request() -> None:
    assert said(ask(local(), "c")) == said(ask(local(), "c"))
    assert len({said(ask(local(seed=seed), text)) for seed in (0, 1) for text in "xy"}) == 4


def test_a_rule_that_is_used_up_is_told_with_its_calls() -> None:
    rules = "rules: [{name: once, times: 1, then: {text: a}}, {name: late, state: {is: asked}, then: {text: b}}]"
    app = local(rules, unmatched="error")
    assert ask(app, "c").status == 200
    told = [line.partition("/rules.yaml:")[2] for line in ask(app, "c").json["error"]["message"].splitlines()[1:]]
    assert told == [
        '1 "once": matches, but it is used up: it has answered its 1 call in this namespace',
        '1 "late": matches, but the state of this namespace is "start", not "asked"',
    ]


def test_with_unmatched_error_the_nearest_rules_are_told() -> None:
    answered = ask(local(TWO, unmatched="error"), "c")
    assert (answered.status, answered.source) == (404, "unmatched")
    assert '"first"' in answered.json["error"]["message"]
    assert '"second"' in answered.json["error"]["message"]


ATTEMPTS = """
rules:
  - when: {attempt: {lt: 3}}
    then: {error: 503}
  - then: {text: at last}
"""


def test_attempts_are_counted_by_meaning() -> None:
    server = local(ATTEMPTS)
    assert [ask(server, "x").status for _ in range(3)] == [503, 503, 200]
    assert ask(server, "y").status == 503


def test_models_that_the_settings_do_not_list_do_not_exist() -> None:
    server = local(models=["gpt-4o*", "mine"])
    refused = server.ask(BODY, {"model": "gpt-3", "messages": [{"role": "user", "content": "x"}]})
    assert (refused.status, refused.json["error"]["code"]) == (404, "model_not_found")
    assert ask(server, "x").status == 200


def test_ids_are_stable_unless_they_are_to_be_unique() -> None:
    stable, unique = local(), local(ids="unique")
    assert ask(stable, "x").json == ask(stable, "x").json
    first, second = ask(unique, "x").json, ask(unique, "x").json
    assert first["id"] != second["id"]
    assert {**first, "id": ""} == {**second, "id": ""}


def test_a_rule_that_fails_is_named() -> None:
    answered = ask(local('rules: [{name: broken, then: {text: "{{ tool_result.json.sky }}"}}]'), "x")
    assert answered.status == 500
    assert "rules.yaml:1" in answered.json["error"]["message"]
    assert answered.source.endswith("broken")


def test_prompts_leave_others_their_turn() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def planned() -> None:
        others_at_work = asyncio.create_task(others())
        await plan_call(local().live.engine, several(50))
        others_at_work.cancel()

    asyncio.run(planned())
    assert turns >= 50


TIMED = """
settings:
  timing: {total: 3s}
  models: {slow: {timing: {total: 2s}, aliases: [snail]}, "*": }
rules:
  - {when: {last_user: mine}, then: {text: Hi!, timing: {total: 1s}}}
  - {when: {last_user: told}, then: {text: Hi!}}
"""


@pytest.mark.parametrize(
    ("model", "text", "seconds"),
    [
        ("slow", "mine", 1.0),
        ("slow", "told", 2.0),
        ("snail", "told", 2.0),
        ("slow", "made up", 2.0),
        ("other", "mine", 1.0),
        ("other", "told", 3.0),
        ("other", "made up", 3.0),
    ],
)
def test_a_rule_times_an_answer_or_else_its_model_or_else_the_settings(model: str, text: str, seconds: float) -> None:
    asked = calls.call(text, model=model, meaning={})
    assert asyncio.run(plan_call(local(TIMED).live.engine, asked)).timing.total == seconds


def test_a_model_is_looked_up_by_the_name_that_a_rule_sees() -> None:
    server = local(
        """
settings: {models: {real: {resolved: real-1, aliases: [fast]}}}
rules:
  - {when: {model: fast}, then: {text: "{{ call.model }}"}}
"""
    )
    answered = ask(server, "hi", model="fast").json
    assert (answered["model"], answered["choices"][0]["message"]["content"]) == ("real-1", "fast")
    assert ask(server, "hi", model="real").json["model"] == "real-1"
    assert ask(server, "hi", model="slow").status == 404


def test_a_large_request_gets_as_many_choices_as_it_asks_for() -> None:
    """Not all of them are different: nobody waits for hundreds of large ones."""
    fields = {f"p{at}": {"type": "string", "description": "a word " * 40} for at in range(400)}
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    asked = {"type": "json_schema", "json_schema": {"name": "wide", "schema": schema}}
    told = [choice["message"]["content"] for choice in ask(local(), "a", n=64, response_format=asked).json["choices"]]
    assert len(told) == 64
    assert 8 <= len(set(told)) < 16


def test_all_choices_of_a_small_request_are_different() -> None:
    told = [choice["message"]["content"] for choice in ask(local(), "Tell me of the sea", n=64).json["choices"]]
    assert len(set(told)) > 48


async def test_the_first_choice_is_made_even_if_earlier_calls_of_a_batch_left_little_work() -> None:
    asked = replace(several(1), operation="chat", options=Options(n=3), prompts=())
    draft = await generate_draft(asked, Seed(), RequestWork(left=0))
    assert isinstance(draft, Draft)
    assert len(draft.choices) == 3
    assert len(set(map(id, draft.choices))) == 1


RULES = """
rules:
  - {name: ruled, when: {last_user: ruled}, then: {text: by a rule}}
  - {name: other, when: {last_user: "*other*"}, then: {cassette: other}}
  - {name: away, when: {last_user: "*away*"}, then: {forward: true}}
  - {name: steps, when: {last_user: "*steps*"}, then: {steps: [{text: first}, {cassette: other}]}}
  - {name: times, when: {last_user: counted}, times: 1, then: {cassette: other}}
"""
RESPONSES = "/v1/responses"
GOING_ON = {"model": "gpt-4o", "input": "And?", "previous_response_id": "resp_up"}


def server(held: Folder, rules: str = RULES, tmp: Any = None, **settings: Any) -> Local:
    """A server that plays `chat`."""
    file = tmp / "rules.yaml"
    file.write_text(rules)
    return Local(start(Sources((file,), {"cassette": "chat", "cassettes": str(held.path), **settings}, {})))


HELD = {
    "chat": [
        episode(chat("ruled"), "never"),
        episode(chat("hello"), '{"from":"chat"}'),
        episode(
            {"model": "gpt-4o", "input": "And?", "previous_response_id": "resp_up"},
            "{}",
            path=RESPONSES,
            operation="responses",
        ),
        episode({"model": "m", "prompt": ["a", "b"]}, '{"two":2}', path="/v1/completions", operation="completions"),
        episode(None, '{"object":"list"}', path="/v1/models", operation="models", method="GET"),
        episode(None, '{"id":"resp_up"}', path="/v1/responses/resp_up", operation="response", method="GET"),
        episode(chat("x " * 20_000, model="gpt-4"), Recorded(400, HEADERS, b'{"error":{}}')),
    ],
    "other": [episode(chat("other"), '{"from":"other"}'), episode(chat("counted"), '{"counted":1}')],
}


@pytest.fixture
def with_cassettes(tmp_path: Any) -> Local:
    return server(folder(**HELD), tmp=tmp_path)


def replayed(answered: Answered) -> str:
    text: str = answered.json["choices"][0]["message"]["content"]
    return text


def test_rules_come_first(with_cassettes: Local) -> None:
    assert replayed(with_cassettes.ask(CHAT, chat("ruled"))) == "by a rule"


def test_what_no_rule_answers_the_cassette_does(with_cassettes: Local) -> None:
    answered = with_cassettes.ask(CHAT, chat("hello"))
    assert (answered.source, answered.body) == ("cassette chat.yaml#2", b'{"from":"chat"}')


def test_a_rule_plays_another_cassette(with_cassettes: Local) -> None:
    answered = with_cassettes.ask(CHAT, chat("other"))
    assert (answered.source, answered.body) == ("cassette other.yaml#1", b'{"from":"other"}')
    missed = with_cassettes.ask(CHAT, chat("another one"))
    assert (missed.status, missed.source) == (404, "unmatched")
    assert missed.json["error"]["message"].startswith("no episode of other.yaml answers this request; the nearest:")


def test_a_rule_that_has_had_its_times_leaves_the_call_to_the_cassette(with_cassettes: Local) -> None:
    assert with_cassettes.ask(CHAT, chat("counted")).source == "cassette other.yaml#2"
    assert with_cassettes.ask(CHAT, chat("counted")).source == "unmatched"


@pytest.mark.parametrize("unmatched", ["generate", "error"])
def test_a_miss_is_an_error_whatever_is_generated_elsewhere(tmp_path: Any, unmatched: str) -> None:
    answered = server(folder(**HELD), tmp=tmp_path, unmatched=unmatched).ask(CHAT, chat("hullo"))
    assert (answered.status, answered.source) == (404, "unmatched")
    assert 'recorded "hello" | request "hullo"' in answered.json["error"]["message"]


@pytest.mark.parametrize("unmatched", ["generate", "error"])
def test_a_response_goes_on_from_one_that_only_the_provider_knows(tmp_path: Any, unmatched: str) -> None:
    local = server(folder(**HELD), tmp=tmp_path, unmatched=unmatched)
    assert local.ask(RESPONSES, GOING_ON).source == "cassette chat.yaml#3"
    missed = local.ask(RESPONSES, {**GOING_ON, "previous_response_id": "resp_down"})
    assert 'previous_response_id: recorded "resp_up" | request "resp_down"' in missed.json["error"]["message"]


def test_several_prompts_are_one_request(with_cassettes: Local) -> None:
    answered = with_cassettes.ask("/v1/completions", {"model": "m", "prompt": ["a", "b"]})
    assert (answered.source, answered.body) == ("cassette chat.yaml#4", b'{"two":2}')
    assert with_cassettes.ask("/v1/completions", {"model": "m", "prompt": ["b", "a"]}).source == "unmatched"


def test_look_ups_are_played(with_cassettes: Local) -> None:
    assert with_cassettes.ask("/v1/models", method="GET", body=b"").source == "cassette chat.yaml#5"
    assert with_cassettes.ask("/v1/responses/resp_up", method="GET", body=b"").source == "cassette chat.yaml#6"
    assert with_cassettes.ask("/v1/responses/resp_no", method="GET", body=b"").status == 404


def test_what_is_kept_here_is_not_asked_of_the_cassette(with_cassettes: Local) -> None:
    kept = with_cassettes.ask(RESPONSES, {"model": "m", "input": "ruled"})
    assert kept.source.endswith("ruled")
    assert with_cassettes.ask(f"{RESPONSES}/{kept.json['id']}", method="GET", body=b"").source == "stored"


def test_what_is_published_of_a_model_refuses_nothing_that_was_recorded(with_cassettes: Local) -> None:
    body = chat("x " * 20_000, model="gpt-4")
    assert with_cassettes.ask(CHAT, body).body == b'{"error":{}}'
    refused = with_cassettes.ask(CHAT, chat("y " * 20_000, model="gpt-4"))
    assert (refused.status, refused.source) == (400, "invalid")


def test_faults_and_timing_of_rules_befall_what_was_recorded(tmp_path: Any) -> None:
    rules = "rules: [{name: cut, then: {faults: [{cut: {after_bytes: 3}}], timing: {total: 2s}}}]"
    local = server(folder(**HELD), rules, tmp=tmp_path)
    assert local.ask(CHAT, chat("hello")).source == "cassette chat.yaml#2"
    rules = "rules: [{name: own, then: {cassette: chat, timing: {total: 2s}, faults: [reset]}}]"
    assert server(folder(**HELD), rules, tmp=tmp_path).ask(CHAT, chat("hello")).source == "cassette chat.yaml#2"


FRONT_RULES = """
rules:
  - {name: first, times: 1, when: {last_user: "*a*"}, then: {text: one}}
  - {name: second, when: {last_user: "*b*"}, then: {text: two}}
"""


def test_an_engine_behind_more_rules_tries_these_first_and_shares_what_is_remembered() -> None:
    server = local(FRONT_RULES)
    more = local("rules: [{name: more, when: {last_user: a, attempt: 2}, then: {text: more}}]").live.engine.rules
    engine = server.live.engine
    made = replace(engine, rule_set=engine.rule_set.put_first(more))
    assert [rule.name for rule in made.rules] == ["more", "first", "second"]
    assert [planned(made, "a"), planned(engine, "ab"), planned(made, "a")] == ["first", "second", "more"]
    assert [rule.name for rule in engine.rules] == ["first", "second"]


def test_many_rules_in_front_are_found_too() -> None:
    written = [
        f"{{when: {{last_user: text {number}}}, then: {{text: x}}, name: n{number}}}" for number in range(FEW_RULES + 1)
    ]
    more = local(f"rules: [{', '.join(written)}]").live.engine.rules
    engine = local(FRONT_RULES).live.engine
    made = replace(engine, rule_set=engine.rule_set.put_first(more))
    assert [planned(made, f"text {FEW_RULES}"), planned(made, "text 0"), planned(made, "a")] == [
        f"n{FEW_RULES}",
        "n0",
        "first",
    ]


async def test_an_engine_that_remembers_elsewhere_leaves_no_trace() -> None:
    engine = local(FRONT_RULES).live.engine
    elsewhere = replace(engine, counters=MemoryCounters(), memory=Memory(MemoryValueStore(count=9, size=9_999)))
    asked = calls.call("ab")
    sources = [(await plan_call(each, asked)).source.split()[-1] for each in (elsewhere, elsewhere, engine, engine)]
    assert sources == ["first", "second", "first", "second"]
    assert [rule.name for rule in elsewhere.rules] == ["first", "second"]


def planned(engine: Engine, text: str) -> str:
    """The name of the rule that answers."""
    return asyncio.run(plan_call(engine, calls.call(text))).source.split()[-1]


def test_an_engine_that_plays_other_cassettes_shares_the_rest() -> None:
    engine = local(FRONT_RULES).live.engine
    made = replace(engine, player=local().live.player)
    assert made.player is not engine.player
    assert (made.rules, made.counters) == (engine.rules, engine.counters)
