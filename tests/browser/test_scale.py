"""Ten thousand calls: what is in the document and what is asked of the server stays small. Counted, not timed."""

import json
import re

from playwright.sync_api import Route, expect

from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Failure, Plan
from tests.browser.conftest import Backend, Inspector

CALLS = 10_000
ROWS, NODES, REQUESTS = 120, 2000, 60


def fill(backend: Backend, count: int) -> None:
    """Put finished calls into the journal, as if they had been answered."""
    journal = backend.server.local.live.journal
    for at in range(1, count + 1):
        said = f"question {at}" + (" about whales" if not at % 1000 else "")
        body = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": said}]}).encode()
        row = journal.open(HttpRequest("POST", "/v1/chat/completions", body=body), "openai", operation="chat")
        row.model = "gpt-4o"
        plan = Plan(Failure("server_error"), "generated" if at % 7 else "rule rules.yaml:4 greeting")
        row.note_answer(plan, Reply(500 if not at % 100 else 200, (("content-type", "application/json"),)))
        row.note_sent(b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "fine"}}]}')
        journal.close(row, "complete")


def count(tab: Inspector, selector: str) -> int:
    return tab.page.locator(selector).count()


def test_ten_thousand_calls(backend: Backend, tab: Inspector) -> None:
    fill(backend, CALLS)
    tab.open()
    expect(tab.row(CALLS)).to_contain_text(f"question {CALLS}")
    sums = tab.page.locator(".sums")
    expect(sums).to_contain_text("10,000 calls")
    expect(sums).not_to_contain_text("loading")
    keys = tab.page.keyboard
    keys.press("g")
    expect(tab.row(1)).to_contain_text("question 1")
    for _ in range(30):
        keys.press("j")
    expect(tab.row(31)).to_have_attribute("aria-selected", "true")
    keys.press("Enter")
    expect(tab.page.locator(".head h2")).to_contain_text("#31")
    keys.press("Escape")
    keys.press("G")
    expect(tab.row(CALLS)).to_be_visible()
    filter = tab.page.get_by_label("Filter calls")
    filter.fill("status:500")
    expect(sums).to_contain_text("100 calls of 10,000")
    filter.fill("whales")
    expect(sums).to_contain_text("10 calls of 10,000")
    filter.fill("")
    expect(sums).to_contain_text("10,000 calls")
    assert count(tab, "#calls .row") <= ROWS
    assert count(tab, "*") <= NODES
    assert len([url for url in tab.requests if "/api/" in url]) <= REQUESTS
    backend.chat("hello to the newest")
    expect(tab.row(CALLS + 1).or_(tab.page.locator(".sums").get_by_text("10,000"))).to_have_count(2)


def test_keys_while_older_calls_load(backend: Backend, tab: Inspector) -> None:
    """What the keys go to may not be loaded yet: they get there, or say that it is not."""
    fill(backend, 1200)
    held = list[Route]()  # until the page is rid of the route
    older = re.compile("/api/calls[?].*before=")
    tab.page.route(older, lambda route: held.append(route))
    tab.open("#/calls/5")
    title = tab.page.locator(".head h2")
    expect(title).to_contain_text("#5 200")
    expect(tab.page.locator(".sums")).to_contain_text("200 calls")
    keys = tab.page.keyboard
    keys.press("j")
    expect(tab.page.locator(".notice")).to_contain_text("Older calls are still loading.")
    expect(title).to_contain_text("#5")
    keys.press("Escape")
    keys.press("g")
    expect(tab.row(1001)).to_have_attribute("aria-selected", "true")
    tab.page.unroute(older)
    expect(tab.row(1)).to_have_attribute("aria-selected", "true")
    expect(tab.row(1)).to_be_visible()
    keys.press("j")
    expect(tab.row(2)).to_have_attribute("aria-selected", "true")


def test_a_burst_of_calls_arrives_whole(backend: Backend, tab: Inspector) -> None:
    tab.open()
    expect(tab.page.get_by_text("No call yet")).to_be_visible()
    fill(backend, 1500)
    expect(tab.page.locator(".sums")).to_contain_text("1,500 calls")
    expect(tab.row(1500)).to_be_visible()
    assert count(tab, "#calls .row") <= ROWS
