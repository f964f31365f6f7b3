"""What people do with the inspector, in a real browser: calls come, are explained, and rules change because of them."""

import json
import re
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import RULES, Backend, Inspector

ROOT = Path(__file__).parents[2]


def test_a_call_becomes_a_row_within_a_second(backend: Backend, tab: Inspector) -> None:
    tab.open()
    backend.chat("hello there")
    expect(tab.row(1)).to_contain_text("hello there", timeout=1000)
    expect(tab.row(1)).to_contain_text("greeting")
    expect(tab.page.locator(".frame nav .count").first).to_have_text("1")


def test_an_open_stream_grows_and_ends(backend: Backend, tab: Inspector) -> None:
    tab.open()
    stream = Thread(target=backend.chat, args=("go slowly",), kwargs={"stream": True})
    stream.start()
    expect(tab.row(1)).to_contain_text("open")
    tab.row(1).click()
    tab.page.get_by_role("tab", name="Stream").click()
    count = tab.page.locator(".tabs .count")
    first = int(count.inner_text())
    expect(count).not_to_have_text(str(first))
    expect(tab.page.locator(".head .facts")).to_contain_text(re.compile(r"first byte .* · [\d.]+ s"), timeout=10_000)
    assert int(count.inner_text()) > first
    stream.join()


TRICKLE = {
    "name": "trickle",
    "when": {"last_user": "*for ages*"},
    "then": {"text": "One word after the other, all the time. " * 5, "timing": {"tokens_per_second": 12}},
}


def test_an_open_stream_is_shown_while_it_grows(backend: Backend, tab: Inspector) -> None:
    """It changes more often than it is read again, and is read again all the same."""
    assert "error" not in backend.api("rules", TRICKLE)
    tab.open()
    stream = Thread(target=backend.chat, args=("go on for ages",), kwargs={"stream": True})
    stream.start()
    tab.row(1).click()
    tab.page.get_by_role("tab", name="Stream").click()
    count, seen = tab.page.locator(".tabs .count"), set()
    while stream.is_alive():
        seen.add(count.inner_text())
        tab.page.wait_for_timeout(50)
    assert len(seen) >= 4, seen
    stream.join()


def test_a_client_that_leaves_is_seen(backend: Backend, tab: Inspector) -> None:
    tab.open()
    body = {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": "go slowly"}]}
    with backend.client.stream("POST", f"{backend.base}/v1/chat/completions", json=body) as answer:
        next(answer.iter_raw())
    expect(tab.row(1)).to_contain_text("client left after")
    tab.row(1).click()
    expect(tab.page.locator(".torn").first).to_contain_text("client left after")


def test_retries_read_as_tries(backend: Backend, tab: Inspector) -> None:
    backend.story()
    tab.open("#/calls/5")
    tries = tab.page.get_by_role("navigation", name="Tries")
    expect(tries).to_contain_text(re.compile(r"#3\s*503\s*#4\s*503\s*#5\s*200"))
    tries.get_by_text("#4").click()
    expect(tab.page.locator(".head h2")).to_contain_text("#4 503")


def test_a_call_of_a_tool_stands_with_its_result(backend: Backend, tab: Inspector) -> None:
    backend.agent()
    tab.open("#/calls/2")
    panel = tab.page.locator(".panel")
    tab.page.get_by_role("button", name=re.compile("message")).click()  # what the first call had is folded
    pair = panel.locator(".tool-call")
    expect(pair).to_have_count(1)
    expect(pair).to_contain_text(re.compile(r'get_weather.*"city".*"Oslo".*→.*"temp".*21', re.DOTALL))
    tab.page.keyboard.press("[")
    expect(tab.page.locator(".head h2")).to_contain_text("#1")
    expect(panel.locator(".answer .tool-call")).to_contain_text("get_weather")


def test_from_a_typo_to_a_rule_that_answers(backend: Backend, tab: Inspector) -> None:
    tab.allowed.add("409")  # the file has a rule of this name
    backend.chat("What is the weather in Oslo?")
    backend.chat("What is the wether in Oslo?")
    tab.open("#/calls/2/why")
    first = tab.page.locator(".rule-found").first
    expect(first).to_contain_text("weather")
    expect(first.locator("mark")).to_have_count(1)
    first.get_by_role("button", name="Put into a draft").click()
    editor = tab.page.get_by_label("Rule, in YAML")
    expect(editor).to_have_value(re.compile("wether in Oslo"))
    effect = tab.page.locator(".effect")
    expect(effect).to_contain_text("#2")
    expect(effect.locator(".tried")).to_contain_text("Sunny, 21 degrees.")
    tab.page.get_by_role("button", name="Use", exact=True).click()
    expect(tab.page.locator("#rules")).to_contain_text("added")
    assert backend.chat("What is the wether in Oslo?")["content"] == "Sunny, 21 degrees."
    tab.page.get_by_role("link", name="Calls").click()
    expect(tab.row(3)).to_contain_text("Sunny, 21 degrees.")


def test_a_new_draft_is_empty(backend: Backend, tab: Inspector) -> None:
    tab.open("#/draft?rule=weather")
    editor = tab.page.get_by_label("Rule, in YAML")
    expect(editor).to_have_value(re.compile("weather in Oslo"))
    tab.page.get_by_role("button", name="Empty").click()
    expect(editor).to_have_value(re.compile("new rule"))
    expect(tab.page.get_by_text("a new rule, before all others")).to_be_visible()
    editor.fill("- name: typed\n")
    tab.page.get_by_role("link", name=re.compile("Rules")).click()
    tab.page.get_by_role("link", name="New rule").click()
    expect(editor).to_have_value(re.compile("new rule"))


def test_a_draft_does_not_take_calls_from_the_rule_that_it_is_a_copy_of(backend: Backend, tab: Inspector) -> None:
    backend.chat("What is the weather in Oslo?")
    tab.open("#/draft?rule=weather")
    editor = tab.page.get_by_label("Rule, in YAML")
    editor.fill(editor.input_value().replace("weather in", "snow in"))
    effect = tab.page.locator(".effect")
    expect(effect).to_contain_text("0 calls")
    expect(effect).not_to_contain_text("No longer answered")
    editor.fill("- name: weather\n  wen: {}\n")
    expect(effect).to_contain_text("Not checked")
    expect(effect).not_to_contain_text("calls")


def test_mistakes_of_a_draft_name_their_line(tab: Inspector) -> None:
    tab.open("#/draft")
    editor = tab.page.get_by_label("Rule, in YAML")
    editor.fill("- name: one\n  when: {last_user: {contain: x}}\n  then: {text: y}\n")
    expect(tab.page.locator(".mistake")).to_contain_text("line 2")
    expect(tab.page.locator(".mistake")).to_contain_text('did you mean "contains"?')
    expect(tab.page.locator(".gutter .bad")).to_have_text("2")
    tab.page.reload()
    expect(editor).to_have_value(re.compile("contain: x"))  # drafts survive


def test_a_broken_file_is_reported_until_it_is_mended(backend: Backend, tab: Inspector) -> None:
    tab.open("#/server")
    backend.rules.write_text(RULES.replace('last_user: "*hello*"', "last_user: {contain: hello}"))
    tab.allowed.add("400")
    tab.allowed.add("409")
    tab.page.get_by_role("button", name="Read the files again").click()
    problem = tab.page.locator(".problem")
    expect(problem).to_contain_text('unknown predicate "contain"')
    assert tab.violations() == []
    backend.rules.write_text(RULES)
    tab.page.get_by_role("button", name="Read the files again").click()
    expect(problem).to_have_count(0)


@pytest.mark.parametrize("options", [{"inspector_writes": True}])
def test_a_draft_is_saved_where_that_is_allowed(backend: Backend, tab: Inspector) -> None:
    tab.allowed.add("409")
    tab.open("#/draft?rule=weather")
    editor = tab.page.get_by_label("Rule, in YAML")
    editor.fill(editor.input_value().replace("Sunny", "Rainy"))
    tab.page.get_by_role("button", name="Save…").click()
    expect(tab.page.locator("ins").filter(has_text="Rainy")).to_be_visible()
    tab.page.get_by_role("button", name="Save to").click()
    expect(tab.page.locator(".rule-open")).to_contain_text("Rainy")
    assert "Rainy, 21 degrees." in backend.rules.read_text()
    assert backend.chat("weather in Oslo")["content"] == "Rainy, 21 degrees."
    tab.open("#/draft?rule=greeting")
    expect(editor).to_have_value(re.compile("greeting"))
    backend.rules.write_text("# changed\n" + backend.rules.read_text())
    tab.page.get_by_role("button", name="Save…").click()
    tab.page.get_by_role("button", name="Save to").click()
    expect(tab.page.locator(".saving .wrong")).to_be_visible()


def test_saving_is_not_offered_otherwise(backend: Backend, tab: Inspector) -> None:
    tab.open("#/draft?rule=weather")
    expect(tab.page.get_by_role("button", name="Use", exact=True)).to_be_visible()
    expect(tab.page.get_by_role("button", name="Save…")).to_have_count(0)


def test_a_cassette_and_its_episodes(backend: Backend, tab: Inspector) -> None:
    folder = backend.rules.parent / "cassettes"
    folder.mkdir()
    (folder / "tour.yaml").write_text((ROOT / "cassettes" / "tour.yaml").read_text())
    backend.client.put(f"{backend.base}/__mockserver__/api/cassette", json={"name": "tour"}).raise_for_status()
    tab.open("#/cassette")
    rows = tab.page.locator(".plain-table tbody tr")
    expect(rows.first).to_contain_text("never")
    assert rows.count() == backend.api("cassette")["episodes"]
    assert tab.violations() == []
    tab.page.get_by_role("button", name="once").click()
    assert backend.api("cassette")["record"] == "none"  # a mode that asks upstream wants a second press
    tab.page.get_by_role("button", name="This asks upstream").click()
    expect(tab.page.locator(".chip.chosen")).to_have_text("once")


def test_the_server_view_changes_what_it_shows(backend: Backend, tab: Inspector) -> None:
    backend.chat("Where is my order?", namespace="test_refund")
    tab.open("#/server")
    row = tab.page.locator(".plain-table tr").filter(has_text="test_refund")
    expect(row).to_contain_text("busy 1")
    row.get_by_role("button", name="as timed").click()
    expect(row.get_by_role("button", name="at once")).to_be_visible()
    row.get_by_role("button", name="Reset").click()
    row.get_by_role("button", name="Reset rules").click()
    expect(row).to_have_count(0)
    assert backend.api("calls?namespace=test_refund")["calls"] == []


def test_a_call_is_sent_again_and_compared(backend: Backend, tab: Inspector) -> None:
    backend.chat("Where is my order?")
    tab.open("#/calls/1")
    tab.page.get_by_role("button", name="Send again").click()
    expect(tab.page.locator(".head h2")).to_contain_text("#2 503")
    tab.page.get_by_role("button", name="Send again").click()
    expect(tab.page.locator(".head h2")).to_contain_text("#3 200")
    tab.page.keyboard.press("c")
    tab.page.keyboard.press("k")
    tab.page.keyboard.press("c")
    expect(tab.page.locator(".compare")).to_contain_text(re.compile(r"status.*200.*503", re.DOTALL))


def test_copies_hold_no_credential(backend: Backend, open_tab: Any) -> None:
    backend.chat("hello 'quoted'")
    tab = open_tab(permissions=["clipboard-read", "clipboard-write"])
    tab.open("#/calls/1")
    for form, part in {"curl": "curl ", "pytest": "def test_", "rule": "when:", "request": '"messages"'}.items():
        tab.page.locator(".copies").get_by_role("button", name=form).click()
        expect(tab.page.locator(".notice")).to_contain_text(f"call 1 as {form}")
        copied = tab.page.evaluate("() => navigator.clipboard.readText()")
        assert part in copied
        assert "sk-test" not in copied


def test_a_restart_empties_the_list(backend: Backend, tab: Inspector) -> None:
    backend.chat("hello")
    tab.open()
    expect(tab.row(1)).to_be_visible()
    backend.server.reset()
    expect(tab.page.get_by_text("No call yet")).to_be_visible()
    backend.chat("hello after it")
    expect(tab.row(1)).to_contain_text("hello after it")


def test_a_lost_connection_is_said_and_found_again(backend: Backend, tab: Inspector) -> None:
    tab.allowed.add("")
    tab.page.route("**/api/feed*", lambda route: route.abort())
    tab.page.goto(f"{tab.base}/__mockserver__/")
    expect(tab.page.locator(".connection")).to_have_text("disconnected, trying again")
    tab.page.unroute("**/api/feed*")
    backend.chat("hello again")
    expect(tab.row(1)).to_contain_text("hello again")
    expect(tab.page.locator(".connection")).to_have_text("live")


def test_what_is_shown_stays_when_the_server_stops(backend: Backend, tab: Inspector) -> None:
    tab.allowed.add("")
    backend.chat("hello")
    tab.open()
    expect(tab.row(1)).to_contain_text("hello")
    backend.server.stop()
    expect(tab.page.locator(".connection")).to_have_text("disconnected, trying again")
    expect(tab.row(1)).to_contain_text("hello")
    tab.page.get_by_role("button", name="Clear").click()
    tab.page.get_by_role("button", name="Delete all calls?").click()
    expect(tab.page.get_by_role("alert")).to_have_text("the server does not answer")


def test_a_hidden_tab_closes_its_feed(backend: Backend, tab: Inspector) -> None:
    tab.open()
    hide = """(hidden) => {
      Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    tab.page.evaluate(hide, True)
    expect(tab.page.locator(".connection")).to_have_text("paused")
    backend.chat("hello while hidden")
    tab.page.evaluate(hide, False)
    expect(tab.row(1)).to_contain_text("hello while hidden")


def test_seven_tabs_are_live(backend: Backend, browser: Any, open_tab: Any) -> None:
    tabs = [open_tab().open() for _ in range(7)]
    backend.chat("hello to all")
    for tab in tabs:
        expect(tab.row(1)).to_contain_text("hello to all")


def test_back_reload_and_a_pasted_address_show_the_same(backend: Backend, tab: Inspector, open_tab: Any) -> None:
    backend.story()
    tab.open("#/calls?q=unmatched")
    tab.row(7).click()
    tab.page.get_by_role("tab", name="Why").click()
    tab.page.keyboard.press("j")
    expect(tab.page.locator(".head h2")).to_contain_text("#12")
    address = tab.page.url
    assert address.endswith("#/calls/12/why?q=unmatched")
    tab.page.reload()
    expect(tab.page.locator(".head h2")).to_contain_text("#12")
    expect(tab.page.get_by_role("tab", name="Why")).to_have_attribute("aria-selected", "true")
    tab.page.go_back()
    expect(tab.page.locator(".head")).to_have_count(0)
    assert tab.page.url.endswith("#/calls?q=unmatched")
    other = open_tab()
    other.page.goto(address)
    expect(other.page.locator(".head h2")).to_contain_text("#12")
    expect(other.page.get_by_label("Filter calls")).to_have_value("unmatched")


def test_calls_of_a_program_for_itself_show_when_asked_for(backend: Backend, tab: Inspector) -> None:
    with backend.rules.open("a") as file:
        file.write("  - {name: title, service: true, when: {last_user: Name this}, then: {text: A title}}\n")
    backend.server.reset()
    backend.chat("hello to all")
    backend.chat("Name this")
    tab.open()
    expect(tab.row(1)).to_be_visible()
    expect(tab.row(2)).to_have_count(0)
    tab.page.get_by_role("button", name="service 1").click()
    expect(tab.row(2)).to_contain_text("service title")
    expect(tab.row(1)).to_have_count(0)


def test_the_keys_reach_everything(backend: Backend, tab: Inspector) -> None:
    backend.story()
    tab.open()
    expect(tab.row(14)).to_be_visible()
    keys, head = tab.page.keyboard, tab.page.locator(".head h2")
    keys.press("g")
    keys.press("j")
    keys.press("Enter")
    expect(head).to_contain_text("#2")
    keys.press("2")
    expect(tab.page.locator(".panel.why")).to_be_visible()
    keys.press("G")
    expect(head).to_contain_text("#14")
    keys.press("e")
    expect(tab.page.get_by_label("Rule, in YAML")).to_be_visible()
    tab.page.go_back()
    expect(head).to_contain_text("#14")
    keys.press("Escape")
    expect(head).to_have_count(0)
    keys.press("/")
    keys.type("refund status:200")
    expect(tab.page.locator("#calls .row")).to_have_count(0)
    keys.press("Control+a")
    keys.type("money")
    expect(tab.page.locator("#calls .row")).to_have_count(1)
    expect(tab.row(13)).to_be_visible()


def test_filters_and_their_mistakes(backend: Backend, tab: Inspector) -> None:
    backend.story()
    for query, numbers in {
        "status:5xx": [3, 4],
        "rule:order": [5],
        "ns:test_refund": [13],
        "attempt:>1": [4, 5],
        "unmatched -op:embeddings": [2, 7, 14],
        "changed": [10],
        "op:embed": [12],
        "tool:get_weather": [8],
    }.items():
        tab.open(f"#/calls?q={query}")
        expect(tab.page.locator("#calls span.number")).to_have_text([str(number) for number in numbers])
    for query, words in {"stauts:200": 'no key "stauts"', "ms:fast": "needs a number"}.items():
        tab.open(f"#/calls?q={query}")
        expect(tab.page.locator("#unknown")).to_contain_text(words)
    tab.open("#/calls?q=unmatched rule:order")
    expect(tab.page.locator(".nothing li")).to_contain_text(["4 calls", "1 call"])


@pytest.mark.parametrize("options", [{"control_token": "open-sesame-1234"}])
def test_the_token_of_the_address_is_kept_in_the_session(backend: Backend, tab: Inspector) -> None:
    tab.allowed.add("401")
    tab.page.goto(f"{tab.base}/__mockserver__/")
    expect(tab.page.get_by_label("Token")).to_be_visible()
    expect(tab.page.locator("main")).to_contain_text("The server does not print it.")
    assert tab.violations() == []
    tab.page.goto("about:blank")
    tab.wrong = [words for words in tab.wrong if "about:blank" not in words]
    tab.open("#token=open-sesame-1234")
    assert "open-sesame" not in tab.page.url
    backend.chat("hello")
    expect(tab.row(1)).to_be_visible()


def test_without_javascript_the_api_is_named(backend: Backend, open_tab: Any) -> None:
    tab = open_tab(java_script_enabled=False)
    tab.page.goto(f"{tab.base}/__mockserver__/")
    expect(tab.page.locator("noscript p")).to_contain_text("/__mockserver__/api/")


def test_a_forgotten_call_is_explained(backend: Backend, tab: Inspector) -> None:
    tab.allowed.add("404")
    tab.open("#/calls/99")
    expect(tab.page.locator(".call-pane")).to_contain_text("journal_calls")


def test_clearing_wants_a_second_press(backend: Backend, tab: Inspector) -> None:
    backend.chat("hello")
    tab.open()
    expect(tab.row(1)).to_be_visible()
    tab.page.get_by_role("button", name="Clear").click()
    assert len(backend.api("calls")["calls"]) == 1
    tab.page.get_by_role("button", name="Delete all calls?").click()
    expect(tab.page.get_by_text("No call yet")).to_be_visible()
    assert json.dumps(backend.api("calls")) == '{"calls": []}'
