"""Texts of clients, rules and upstreams are shown as text, whatever they hold; and long ones stay usable."""

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Backend, Inspector

TEXTS = {
    "tags": "<img src=x onerror=alert(1)><b>bold</b>",
    "script": "</script><script>alert(2)</script>",
    "address": "javascript:alert(3)",
    "template": "${alert(4)} {{alert(5)}} <${X} />",
    "prototype": "__proto__ constructor toString",
    "bidi": "abc\u202edef\u2066ghi\u200b\u200djkl",
    "controls": "nul\0 bell\a esc\x1b[31mred\x1b[0m del\x7f",
}
SHOWN = {
    **TEXTS,
    "bidi": "abc\\u202edef\\u2066ghi\\u200b\\u200djkl",
    "controls": "nul\\u0000 bell\\u0007 esc\\u001b[31mred\\u001b[0m del\\u007f",
}
BAD = "".join(f"{text} " for name, text in TEXTS.items() if name not in ("controls", "template"))
VIEWS = ("conversation", "why", "raw")


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_of_a_client_is_shown_as_text(name: str, backend: Backend, tab: Inspector) -> None:
    text = TEXTS[name]
    backend.post("/v1/chat/completions", {"model": "gpt-4o", "messages": [{"role": "user", "content": text}]})
    tab.open()
    expect(tab.row(1)).to_contain_text(SHOWN[name])
    for view in VIEWS:
        tab.open(f"#/calls/1/{view}")
        expect(tab.page.locator(".panel")).to_be_visible()
        if view == "conversation":
            expect(tab.page.locator(".turn.user")).to_contain_text(SHOWN[name])
    assert tab.page.locator("#app img, #app script, #app a[href^=javascript], #app b:text-is('bold')").count() == 0


def test_half_a_character_is_an_escape(tab: Inspector) -> None:
    tab.open()
    script = "async () => (await import('/__mockserver__/parts.js')).visible('half \\ud800, whole \\u{1f600}')"
    assert tab.page.evaluate(script) == "half \\ud800, whole \U0001f600"


@pytest.mark.parametrize("options", [{"replay": "off"}])  # which would remark on the id of the call
def test_every_field_is_shown_as_text(backend: Backend, tab: Inspector) -> None:
    call = {"id": BAD, "type": "function", "function": {"name": "get_weather", "arguments": json.dumps({BAD: BAD})}}
    messages = [
        {"role": "system", "content": BAD},
        {"role": "user", "content": BAD},
        {"role": "assistant", "content": BAD, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": BAD, "content": json.dumps({"__proto__": {"polluted": BAD}})},
        {"role": "user", "content": BAD},
    ]
    tool = {
        "type": "function",
        "function": {"name": "get_weather", "description": BAD, "parameters": {"type": "object"}},
    }
    body = {"model": f"gpt-4o{BAD}", "messages": messages, "tools": [tool], "user": BAD, "stop": [BAD[:60]]}
    backend.post("/v1/chat/completions", body)
    backend.client.get(f"{backend.base}/ns/%3Cb%3Ebold/v1/<b>bold", params={"__proto__": BAD})
    rule = {"name": f"n {BAD}"[:118], "when": {"last_user": "*rule*"}, "then": {"text": BAD}}
    assert backend.api("rules", rule)["names"] == [rule["name"]]
    backend.chat("rule")
    backend.chat("rule", stream=True)
    tab.allowed |= {"400", "404", "409"}
    for fragment in (
        *(f"#/calls/{number}/{view}" for number in (1, 2, 3, 4) for view in (*VIEWS, "stream")),
        "#/calls",
        "#/rules",
        "#/server",
        "#/cassette",
        "#/draft?from=1",
        "#/compare/3/4",
        "#/draft?rule=__proto__",
        "#/calls/1?q=<b>bold __proto__:1 ns:__proto__&ns=__proto__",
        "#/<b>bold/%E0%A4%A?q=%",
    ):
        tab.open(fragment)
        tab.page.wait_for_timeout(60)
        assert tab.page.locator("#app img, #app script, #app b:text-is('bold')").count() == 0, fragment
    assert tab.page.evaluate("() => ({}).polluted === undefined")
    tab.open("#/rules")
    expect(tab.page.locator("#rules")).to_contain_text("<img src=x onerror=alert(1)>")
    tab.open("#/calls/3")
    expect(tab.page.locator(".answer .text")).to_contain_text("</script><script>alert(2)</script>")


def test_what_is_huge_stays_usable(backend: Backend, tab: Inspector) -> None:
    deep: Any = "bottom"
    for _ in range(100):
        deep = {"deeper": deep}
    tools = [
        {"type": "function", "function": {"name": f"tool_{at}", "parameters": {"type": "object"}}} for at in range(2000)
    ]
    backend.chat("x" * 1_000_000)
    backend.chat(json.dumps(deep), tools=tools)
    backend.chat("y" * 300_000)
    tab.open("#/calls/3")
    tab.page.locator(".turn.user button.more").click()
    expect(tab.page.locator(".turn.user .torn")).to_contain_text("Raw has all")
    tab.open("#/calls/1/raw")
    body = tab.page.locator(".wire.body").first
    body.get_by_role("button").click()
    expect(body.locator(".piece").nth(5)).to_be_attached()
    tab.open("#/calls/2")
    expect(tab.page.get_by_role("button", name="more tools")).to_be_visible()
    assert tab.page.evaluate("() => document.querySelectorAll('*').length") < 3000
    tab.open("#/calls/2/raw")
    expect(tab.page.locator(".wire.body").first).to_be_visible()
