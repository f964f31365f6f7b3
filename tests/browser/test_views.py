"""Every view, in both themes and three sizes: no violation of accessibility, nothing cut off, and a picture of each."""

from typing import Any

import pytest

from tests.browser.conftest import PICTURES, SIZES, Backend, Inspector

# Each view: its address, and a text that is there once it is complete.
VIEWS = {
    "calls": ("#/calls", "What is on it?"),
    "nothing-fits": ("#/calls?q=status:5xx model:none", "No call fits"),
    "conversation": ("#/calls/9", "The weather in Oslo: 21 degrees and sunny."),
    "invalid": ("#/calls/11", "temperature"),
    "image": ("#/calls/14", "image"),
    "why": ("#/calls/7/why", "weather in Oslo"),
    "stream": ("#/calls/10/stream", "Frame 1"),
    "raw": ("#/calls/10/raw", "HTTP 200"),
    "rules": ("#/rules/busy", "Tried from the top"),
    "draft": ("#/draft?from=7", "it would answer"),
    "compare": ("#/compare/3/5", "difference"),
    "cassette": ("#/cassette", "No cassette"),
    "server": ("#/server", "test_refund"),
}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_views_are_accessible_and_fit(theme: str, backend: Backend, open_tab: Any) -> None:
    backend.story()
    PICTURES.mkdir(parents=True, exist_ok=True)
    problems = []
    for size in SIZES:
        tab: Inspector = open_tab(size, theme)
        for name, (fragment, text) in VIEWS.items():
            tab.shows(fragment, text)
            tab.page.wait_for_timeout(150)
            tab.page.screenshot(path=PICTURES / f"{name}-{size}-{theme}.png")
            problems += [f"{name} {size}: wider than the page: {each}" for each in tab.overflowing()]
            if size == "wide" or (size == "narrow" and name in ("calls", "why")):
                problems += [f"{name} {size}: {each}" for each in tab.violations()]
    assert not problems, "\n".join(problems)


def test_an_empty_server_says_what_to_do(tab: Inspector) -> None:
    tab.shows("#/calls", "No call yet")
    assert f"curl {tab.base}/v1/chat/completions" in tab.page.locator("main").inner_text()
    assert tab.violations() == []
    tab.page.screenshot(path=PICTURES / "empty.png")


def test_the_help_lists_the_keys(tab: Inspector) -> None:
    tab.open()
    tab.page.keyboard.press("?")
    tab.page.get_by_text("filter the calls").wait_for()
    assert tab.violations() == []
    tab.page.keyboard.press("Escape")
    tab.page.get_by_text("filter the calls").wait_for(state="hidden")
