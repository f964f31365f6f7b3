"""The fixture, its marks and its options, in runs of pytest within a test."""

import pytest

from tests.kit.nested import APP, BROKEN, RULES, ini, run_test_file

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


def test_clients_come_by_themselves_and_find_nothing_of_the_test_before(pytester: pytest.Pytester) -> None:
    tests = """
import os, urllib.request
before = {name: os.environ.get(name) for name in ("OPENAI_BASE_URL", "NO_PROXY", "AZURE_OPENAI_ENDPOINT")}

def test_one(mockserver):
    mockserver.on(last_user="*hello*").reply("Hi!").times(1)
    assert greet() == "Hi!"
    assert mockserver.calls[0].model == "gpt-4o"
    assert os.environ["OPENAI_BASE_URL"] == mockserver.base_url()
    assert urllib.request.proxy_bypass("127.0.0.1")
    test_one.address = mockserver.url

def test_two(mockserver, mockserver_session):
    assert mockserver is mockserver_session
    assert (len(mockserver.calls), mockserver.url) == (0, test_one.address)

def test_three():
    assert before == {name: os.environ.get(name) for name in before}
"""
    run_test_file(pytester, tests).assert_outcomes(passed=3)


@pytest.mark.parametrize("listed", [{}, {"NO_PROXY": "*"}, {"no_proxy": "*"}, {"NO_PROXY": "corp.test"}])
def test_no_proxy_is_in_the_way(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, listed: dict[str, str]
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, hosts in listed.items():
        monkeypatch.setenv(name, hosts)
    tests = """
import urllib.request

def test_a_client(mockserver):
    mockserver.on().reply("Hi!")
    assert greet() == "Hi!"
    assert greet(client=mockserver.client()) == "Hi!"

def test_a_client_without_its_environment(mockserver_session):
    mockserver_session.on().reply("Hi!")
    assert greet(client=mockserver_session.client()) == "Hi!"

def test_a_list_of_all_hosts_stays(mockserver):
    assert bool(urllib.request.proxy_bypass("corp.example")) is ALL
"""
    run_test_file(pytester, tests.replace("ALL", str("*" in listed.values()))).assert_outcomes(passed=3)


def test_a_test_fails_for_the_problems_of_its_server(pytester: pytest.Pytester) -> None:
    tests = """
import openai, pytest

def test_unmatched(mockserver):
    mockserver.on(last_user="*weather*").reply("Sunny.")
    with pytest.raises(openai.NotFoundError):
        greet("good evening")

@pytest.mark.xfail(strict=True)
def test_expected(mockserver):
    mockserver.on().reply("x").times(1)

@pytest.mark.xfail(strict=True)
def test_not_as_expected(mockserver):
    pass

@pytest.mark.mockserver(verify=False)
def test_on_its_own(mockserver):
    test_unmatched(mockserver)

def test_skips(mockserver):
    mockserver.on().reply("x").times(1)
    pytest.skip("later")
"""
    result = run_test_file(pytester, tests, "-q")
    result.assert_outcomes(failed=2, passed=1, xfailed=1, skipped=1)
    assert "- mockserver -" not in result.stdout.str()  # it has been told
    brief = run_test_file(pytester, tests, "--tb=line").stdout
    brief.fnmatch_lines(["test_it.py:5: Failed: no rule answered *"])  # where the test begins
    result.stdout.fnmatch_lines(
        [
            'no rule answered "good evening" (call 1); nearest test_it.py:6: last_user',
            "*MISS  last_user glob*",
            "FAILED test_it.py::test_unmatched - Failed: no rule answered *",
        ]
    )


def test_a_test_fails_for_a_rule_that_fails_on_a_call(pytester: pytest.Pytester) -> None:
    tests = """
import contextlib, pytest

@pytest.mark.mockserver(rules="broken.yaml", unmatched="generate")
def test_swallowed(mockserver):
    with contextlib.suppress(Exception):
        greet()

@pytest.mark.mockserver(rules="broken.yaml", verify=False)
def test_on_its_own(mockserver):
    test_swallowed(mockserver)
    assert mockserver.calls[0].defect == mockserver.calls[0].error

@pytest.mark.xfail(strict=True)
def test_crash(mockserver, monkeypatch):
    monkeypatch.setattr("mockserver.server.respond.plan_within_limits", None)
    with contextlib.suppress(Exception):
        greet()
    assert mockserver.problems()[0].headline.startswith("internal error of mockserver, please report it: TypeError: ")
    assert mockserver.calls[0].source == "crashed"
"""
    broken = "rules:\n  - name: broken\n    then: {text: '{{ body.nothing.at }}'}\n"
    result = run_test_file(pytester, tests, "-q", files={"broken.yaml": broken})
    result.assert_outcomes(failed=1, passed=1, xfailed=1)
    result.stdout.fnmatch_lines(
        [
            "broken.yaml:3: the template of this rule failed: `body.nothing` is undefined; *",
            '  call 1: chat gpt-4o "hello" -> rule broken.yaml:2 broken (500)',
            "FAILED test_it.py::test_swallowed - Failed: broken.yaml:3: *",
        ]
    )


def test_a_misspelt_method_names_the_nearest(pytester: pytest.Pytester) -> None:
    tests = """
def test_server(mockserver):
    mockserver.on_text("hello").reply("Hi!")

def test_call(mockserver):
    mockserver.on("hello").reply("Hi!")
    greet()
    assert mockserver.calls[0].modle == "gpt-4o"
"""
    result = run_test_file(pytester, tests, "-q")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            '>       mockserver.on_text("hello").reply("Hi!")',
            'E       AttributeError: MockServer has no "on_text"; did you mean "on"?',
            'E       AttributeError: ReceivedCall has no "modle"; did you mean "model"?',
        ]
    )


def test_a_test_that_fails_by_itself_shows_what_came(pytester: pytest.Pytester) -> None:
    tests = """
import pytest

def test_wrong(mockserver):
    mockserver.on(name="greeting", last_user="hello").reply("Hi!")
    mockserver.on(last_user="bye").reply("Bye!").times(1)
    assert greet() == "Hello!"

def test_nothing_came(mockserver):
    assert 0

@pytest.fixture
def started(mockserver):
    greet("too early")

def test_nothing_came_and_something_should(mockserver):
    mockserver.on(last_user="bye").reply("Bye!")
    assert 0

def test_mistaken(mockserver):
    mockserver.on(last_user="bye").reply("Bye!")
    mockserver.on(last_usr="bye").reply("Bye!")

def test_mistaken_for_a_table(mockserver):
    mockserver.on({"last_user": "bye"}).reply("Bye!")

def test_in_setup(started):
    pass

def test_without():
    assert 0

def test_waits(mockserver):
    mockserver.on().reply("Hi!", timing={"first_token": "9s"})
    assert 0

def test_steps(mockserver):
    mockserver.on().steps("One.", "Two.")
    assert [greet(), greet()] == ["One.", "Two."]

def test_endpoint(mockserver):
    import httpx
    httpx.post(f"{mockserver.base_url('anthropic')}/v1/agents").raise_for_status()
"""
    result = run_test_file(pytester, tests, "--tb=short")
    result.assert_outcomes(failed=9, errors=1)
    told = result.stdout.str()
    assert "options.py" not in told
    assert "no calls received: the code made none, or its client does not use this server." in told
    assert 'call 1: chat gpt-4o "hello" -> rule test_it.py:6 greeting' in told
    assert "test_it.py:7 answered 0 of 1 expected call" in told
    assert 'no rule answered "too early" (call 1)' in told
    assert ": its timing is ignored; set timing=True in the mark" in told
    assert ": 2 calls got step 1, as the number of assistant messages in a request chooses its step; for one" in told
    assert 'mockserver.on(path="/v1/agents", method="POST").reply(json={})' in told
    assert told.count("- mockserver -") == 6


def test_a_client_of_a_closed_loop_is_named(pytester: pytest.Pytester) -> None:
    tests = """
def test_loops(mockserver):
    import asyncio
    from openai import AsyncOpenAI
    mockserver.on().reply("Hi!")
    client, asked = AsyncOpenAI(max_retries=0), {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
    for _ in range(2):
        asyncio.run(client.chat.completions.create(**asked))
"""
    ini(pytester)
    pytester.makepyfile(app=APP, test_it=f"from app import greet\n{tests}")
    told = pytester.runpytest_subprocess("--tb=short").stdout.str()  # nobody can close its client
    assert told.count("a client used a connection of an event loop that is closed: create an asynchronous client") == 1


def test_ini_file_and_command_line(pytester: pytest.Pytester) -> None:
    tests = """
def test_all(mockserver):
    settings = mockserver.local.live.settings
    names = [rule.name for rule in mockserver.local.live.engine.rules]
    print(settings.seed, settings.dialect, dict(settings.upstream), names, "|")
"""
    files = {"one.yaml": RULES, "a b.yaml": RULES.replace("filed", "spaced"), "sub/two.yaml": RULES.replace("f", "f2")}
    upstream = "openai=https://a.example/v1\n  azure=https://b.example"
    ini(pytester, mockserver_seed="3", mockserver_rules="one.yaml 'a b.yaml'", mockserver_upstream=upstream)
    told = run_test_file(pytester, tests, "-s", files=files).stdout.str()
    both = "{'openai': 'https://a.example/v1', 'azure': 'https://b.example'}"
    assert f"3 openai {both} ['filed', 'spaced'] |" in told
    given = ["--mockserver-rules=sub/two.yaml", "--mockserver-seed=0", "--mockserver-dialect=azure"]
    given.append("--mockserver-upstream=tzafon=http://c.example")
    told = run_test_file(pytester, tests, "-s", *given).stdout.str()
    assert "0 azure {'tzafon': 'http://c.example'} ['f2iled'] |" in told


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("mockserver_unplayed", "warm", "must be one of warn, fail, ignore, not 'warm'"),
        ("mockserver_unmatched", "generat", "must be one of error, generate, not 'generat'"),
        ("mockserver_record", "always", "must be one of none, once, new_episodes, all, not 'always'"),
        ("mockserver_seed", "abc", "must be a whole number, not 'abc'"),
    ],
)
def test_mistakes_of_the_ini_file(pytester: pytest.Pytester, key: str, value: str, told: str) -> None:
    ini(pytester, **{key: value})
    result = run_test_file(pytester, "def test_a(): pass")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: tox.ini: {key} {told}" in result.stderr.str() + result.stdout.str()


def test_a_footprint_that_cannot_be_is_told_before_it_is_asked_for(pytester: pytest.Pytester) -> None:
    ini(pytester, mockserver_footprint_growth="abc")
    result = run_test_file(pytester, "def test_a(): pass")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = 'ERROR: tox.ini: mockserver_footprint_growth: "abc" is not a percentage; '
    assert told in result.stderr.str() + result.stdout.str()


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("mockserver_rulez", "tox.ini: unknown key mockserver_rulez; did you mean mockserver_rules?"),
        ("mockserver-unused", "tox.ini: unknown key mockserver-unused; did you mean mockserver_unused?"),
        (
            "mockserver_xyzzy",
            "tox.ini: unknown key mockserver_xyzzy; choose one of mockserver_rules, mockserver_seed, ",
        ),
        (
            "mockserver_timing",
            "mockserver_timing is no key of the ini file; set it for tests: @pytest.mark.mockserver(timing=...)",
        ),
    ],
)
def test_a_key_that_does_not_exist_is_an_error(pytester: pytest.Pytester, key: str, told: str) -> None:
    ini(pytester, **{key: "1"})
    result = run_test_file(pytester, "def test_a(): pass")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert told in result.stderr.str() + result.stdout.str()


def test_a_key_of_the_command_line_that_does_not_exist_is_an_error(pytester: pytest.Pytester) -> None:
    result = run_test_file(pytester, "def test_a(): pass", "-o", "mockserver_sed=3")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: unknown key mockserver_sed; did you mean mockserver_seed?" in result.stderr.str()


def test_rules_that_cannot_be_for_the_whole_session(pytester: pytest.Pytester) -> None:
    ini(pytester, mockserver_env="session", mockserver_rules="broken.yaml")
    tests = """
import pytest

def test_a(): pass

def test_b(mockserver): pass

def test_c(mockserver_session): pass

@pytest.mark.mockserver(rules="rules.yaml")
def test_d(): assert greet() == "from the file"
"""
    result = run_test_file(pytester, tests, files={"broken.yaml": BROKEN, "rules.yaml": RULES})
    result.assert_outcomes(passed=2, errors=2)
    assert sum(line.startswith("broken.yaml:2:12: ") for line in result.outlines) == 2


def test_fixtures_that_change_the_environment_too(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.example/v1")
    tests = """
import os, pytest

@pytest.mark.parametrize("first", ["monkeypatch", "mockserver"])
def test_changes(request, first):
    request.getfixturevalue(first)
    request.getfixturevalue("mockserver")
    request.getfixturevalue("monkeypatch").setenv("OPENAI_BASE_URL", "https://other.example/v1")

def test_finds_it_as_it_was():
    assert os.environ["OPENAI_BASE_URL"] == "https://api.example/v1"
"""
    run_test_file(pytester, tests).assert_outcomes(passed=3)


def test_recording_is_refused_under_ci(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    tests = """
import pytest

@pytest.mark.mockserver(record="all", unmatched="generate")
def test_marked(mockserver):
    print(mockserver.local.live.settings.record, mockserver.local.live.settings.cassette, "|")
"""
    result = run_test_file(pytester, tests, "--mockserver-record=once")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    refused = "recording is disabled under CI (the variable CI is set); pass --mockserver-record-in-ci to allow it"
    assert refused in result.stderr.str() + result.stdout.str()
    ini(pytester, mockserver_record="once")
    run_test_file(pytester, tests, "-s").stdout.fnmatch_lines(["*none None |*"])
    run_test_file(pytester, tests, "-s", "--mockserver-record-in-ci").stdout.fnmatch_lines(
        ["*all test_it/test_marked |*"]
    )
    monkeypatch.setenv("CI", "false")
    run_test_file(pytester, tests, "-s").stdout.fnmatch_lines(["*all test_it/test_marked |*"])


LINTED = """
import pytest

TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}

def ask(server):
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [TOOL]}
    with server.client() as client:
        client.chat.completions.create(**body)

def test_warn(mockserver):
    mockserver.on("hi").reply(tool_calls=[{"name": "get_wether"}])
    ask(mockserver)
    assert len(mockserver.calls[0].remarks) == 1

@pytest.mark.mockserver(lint="error")
def test_error(mockserver):
    mockserver.on("hi").reply(lambda call: {"tool_calls": [{"name": "get_wether"}]})
    ask(mockserver)
    ask(mockserver)

@pytest.mark.mockserver(lint="off")
def test_off(mockserver):
    mockserver.on("hi").reply(tool_calls=[{"name": "get_wether"}])
    ask(mockserver)

def test_other_failure(mockserver):
    mockserver.on("hi").reply(tool_calls=[{"name": "get_wether"}])
    ask(mockserver)
    assert 0
"""
REMARK = 'the answer calls "get_wether", a tool that the request does not offer; did you mean "get_weather"?'


def test_answers_that_no_model_could_give(pytester: pytest.Pytester) -> None:
    ini(pytester, filterwarnings="default::mockserver.testing.MockServerWarning")
    result = run_test_file(pytester, LINTED)
    result.assert_outcomes(passed=2, failed=2, warnings=1)
    result.stdout.fnmatch_lines(
        [f"test_it.py:19: {REMARK}", "  call 1: * and 1 more call", '  if this is intended, set lint="off"']
    )
    result.stdout.fnmatch_lines(["*- mockserver -*", f"test_it.py:29: {REMARK}"])
    result.stdout.fnmatch_lines([f"*MockServerWarning: test_it.py:13: {REMARK}"])
    run_test_file(pytester, LINTED, "--mockserver-lint=error").assert_outcomes(passed=1, failed=3)
    ini(pytester, mockserver_lint="off")
    result = run_test_file(pytester, LINTED, "-k", "warn or failure")
    result.assert_outcomes(failed=2, deselected=2)
    assert REMARK not in result.stdout.str()


CHANGED = """
import openai
import pytest

def ask(server):
    call = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"}
    asked = {"model": "gpt-5", "input": [{"role": "user", "content": "hi"}, call]}
    server.on().reply("Hello!")
    with server.client() as client:
        return client.responses.create(**asked), client.responses.create(**asked)

def test_warn(mockserver):
    ask(mockserver)
    assert mockserver.calls[0].remarks == mockserver.calls[1].history_remarks

@pytest.mark.mockserver(lint="error")
def test_lint(mockserver):
    ask(mockserver)

@pytest.mark.mockserver(replay="error")
def test_error(mockserver):
    with pytest.raises(openai.BadRequestError, match="No tool output found for function call call_1."):
        ask(mockserver)

@pytest.mark.mockserver(replay="off")
def test_off(mockserver):
    ask(mockserver)

def test_failure(mockserver):
    ask(mockserver)
    assert 0
"""
HISTORY = (
    'input[[]1]: the live provider refuses this history with 400 "No tool output found for function call call_1."; '
    "send each call together with its output, which has the same `call_id`"
)


def test_histories_that_the_live_provider_would_refuse(pytester: pytest.Pytester) -> None:
    ini(pytester, filterwarnings="default::mockserver.testing.MockServerWarning")
    result = run_test_file(pytester, CHANGED)
    result.assert_outcomes(passed=4, failed=1, warnings=2)
    told = [HISTORY, "  call 1: * and 1 more call", '  if this is intended, set replay="off"']
    result.stdout.fnmatch_lines(["*- mockserver -*", *told])
    result.stdout.fnmatch_lines([f"*MockServerWarning: {HISTORY}", "*call 1: * and 1 more call"])
    refused = run_test_file(pytester, CHANGED, "-k", "warn", "--mockserver-replay=error")
    refused.assert_outcomes(failed=1, deselected=4)
    keep = "send each call together with its output, which has the same `call_id`"
    advice = f"  input[[]1]: {keep}; with the setting replay: warn, this is only a remark"
    refused.stdout.fnmatch_lines(["  No tool output found for function call call_1.", advice])
    ini(pytester, mockserver_replay="off")
    assert "live provider" not in run_test_file(pytester, CHANGED, "-k", "lint or failure").stdout.str()


def test_a_rule_without_conditions_before_others(pytester: pytest.Pytester) -> None:
    tests = """
def test_hidden(mockserver):
    mockserver.on().reply("any")
    mockserver.on("hello").reply("Hello!")
    assert greet("hello") == "any"

def test_meant(mockserver):
    mockserver.on().reply("once").times(1)
    mockserver.on("hello").reply("Hello!")
    assert [greet("hello"), greet("hello")] == ["once", "Hello!"]

def test_last(mockserver):
    mockserver.on("hello").reply("Hello!")
    mockserver.on().reply("any")
    assert [greet("hello"), greet("x")] == ["Hello!", "any"]

def test_fails(mockserver):
    mockserver.on().reply("any")
    mockserver.on("hello").reply("Hello!")
    assert greet("hello") == "Hello!"
"""
    ini(pytester, filterwarnings="default::mockserver.testing.MockServerWarning")
    result = run_test_file(pytester, tests)
    result.assert_outcomes(passed=3, failed=1, warnings=1)
    result.stdout.fnmatch_lines(
        ["*- mockserver -*", "test_it.py:19: this rule has no conditions, so test_it.py:20 never answers"]
    )
    result.stdout.fnmatch_lines(
        ["*MockServerWarning: test_it.py:4: this rule has no conditions, so test_it.py:5 never answers"]
    )


def test_a_test_whose_calls_all_miss_the_server_is_warned(pytester: pytest.Pytester) -> None:
    tests = """
from contextlib import suppress
import httpx

def lose(mockserver, path):
    httpx.post(mockserver.url + path, json={})

def test_lost(mockserver):
    mockserver.on().reply("Hello!")
    lose(mockserver, "/chat/completions")

def test_found(mockserver):
    mockserver.on().reply("Hello!")
    lose(mockserver, "/nowhere")
    assert greet("hello") == "Hello!"

def test_without_rules(mockserver):
    lose(mockserver, "/nowhere")
"""
    ini(pytester, filterwarnings="default::mockserver.testing.MockServerWarning")
    result = run_test_file(pytester, tests)
    result.assert_outcomes(passed=3, warnings=1)
    result.stdout.fnmatch_lines(
        [
            "*MockServerWarning: no call reached the rules of this test",
            "*call 1: POST /chat/completions -> invalid (404)",
            "*Invalid URL (POST /chat/completions). Did you mean POST /v1/chat/completions?",
        ]
    )


def test_a_rule_that_misses_a_tools_result_is_a_warning(pytester: pytest.Pytester) -> None:
    tests = """
import pytest
from openai import OpenAI

CALL = {"tool_calls": [{"name": "look_up", "arguments": {}}]}
USED = {"id": "c", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
RESULT = [
    {"role": "assistant", "tool_calls": [USED]},
    {"role": "tool", "tool_call_id": "c", "content": "7"},
]

def ask(text):
    messages = [{"role": "user", "content": text}, *RESULT]
    tools = [{"type": "function", "function": {"name": "look_up"}}]
    with OpenAI() as client:
        return client.chat.completions.create(model="m", messages=messages, tools=tools).choices[0].message

def test_loops(mockserver):
    mockserver.on("*order*").then(CALL)
    mockserver.on(tool_result={"name": "look_up"}).reply("It is 7.")
    assert ask("my order").tool_calls

def test_only_the_result(mockserver):
    mockserver.on("*order*").then(CALL)
    mockserver.on(tool_result={"name": "look_up"}).reply("It is 7.")
    assert ask("hello").content == "It is 7."

@pytest.mark.mockserver(rules="rules.yaml")
def test_a_file_that_loops(mockserver):
    assert ask("my order").tool_calls and ask("my order").tool_calls

@pytest.mark.mockserver(rules="rules.yaml")
def test_a_file_of_which_one_rule_answers_once(mockserver):
    assert ask("my order").tool_calls
"""
    pytester.path.joinpath("rules.yaml").write_text(
        """rules:
- {when: {last_user: "*order*"}, then: {tool_calls: [{name: look_up, arguments: {}}]}}
- {when: {tool_result: {name: look_up}}, then: {text: It is 7.}}
"""
    )
    ini(pytester, filterwarnings="default::mockserver.testing.MockServerWarning")
    result = run_test_file(pytester, tests)
    result.assert_outcomes(passed=4, warnings=2)
    why = 'this rule misses the result of "look_up": the earlier rule (test_it.py:*) calls it, and still matches*'
    result.stdout.fnmatch_lines([f"*MockServerWarning: test_it.py:*: {why}"])
