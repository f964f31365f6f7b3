"""Every view, in both themes and three sizes: no violation of accessibility, nothing cut off, and a picture of each."""

from typing import Any, Literal

import pytest
from playwright.sync_api import ViewportSize

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


THEMES: tuple[Literal["dark", "light"], ...] = ("dark", "light")


def size(name: str) -> ViewportSize:
    width, height = SIZES[name]
    return {"width": width, "height": height}


@pytest.mark.timeout(400)  # five pictures of each view
def test_views_are_accessible_and_fit(backend: Backend, tab: Inspector) -> None:
    backend.story()
    PICTURES.mkdir(parents=True, exist_ok=True)
    problems = []
    for name, (fragment, text) in VIEWS.items():
        tab.page.set_viewport_size(size("wide"))
        tab.shows(fragment, text)
        problems += [f"{name}: {each}" for each in tab.violations()]
        problems += [f"{name}: looks like text: {each}" for each in tab.told_by_colour_alone()]
        tab.page.emulate_media(color_scheme="dark")
        problems += [f"{name}, dark: {each}" for each in tab.violations("color-contrast")]
        for each in SIZES:
            tab.page.set_viewport_size(size(each))
            for theme in THEMES if each != "medium" else THEMES[1:]:
                tab.page.emulate_media(color_scheme=theme)
                tab.page.screenshot(path=PICTURES / f"{name}-{each}-{theme}.png")
            problems += [f"{name}, {each}: wider than its place: {words}" for words in tab.overflowing()]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", ["calls", "why"])
def test_narrow_views_are_accessible(name: str, backend: Backend, open_tab: Any) -> None:
    backend.story()
    tab: Inspector = open_tab("narrow")
    tab.shows(*VIEWS[name])
    assert tab.violations() == []
    assert tab.page.locator(".frame h1").bounding_box()["height"] < 30, "the name is in one line beside the namespaces"


# The pictures of docs/guides/when-a-test-fails.md: made anew with `pytest -n0 tests/browser -k pictures --update`.
SHOWN = {
    **{name: VIEWS[name] for name in ("calls", "why")},
    "draft": ("#/draft?from=7&rule=weather&change=last_user:%20%22*wether%20in%20Oslo*%22", "Sunny, 21 degrees."),
}


def test_the_pictures_of_the_docs(backend: Backend, open_tab: Any, update: bool) -> None:
    tab: Inspector = open_tab("medium")
    backend.story()
    folder = PICTURES.parents[1] / "docs" / "pictures" if update else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    for name, view in SHOWN.items():
        tab.shows(*view)
        tab.page.set_viewport_size({"width": 960, "height": 440})
        tab.page.screenshot(path=folder / f"{name}.png")
        assert (folder / f"{name}.png").stat().st_size <= 100_000
        assert (PICTURES.parents[1] / "docs" / "pictures" / f"{name}.png").exists()


def test_an_empty_server_says_what_to_do(tab: Inspector) -> None:
    tab.shows("#/calls", "No call yet")
    assert f"curl {tab.base}/openai/v1/chat/completions" in tab.page.locator("main").inner_text()
    assert tab.violations() == []


def test_the_help_lists_the_keys(tab: Inspector) -> None:
    tab.open()
    tab.page.keyboard.press("?")
    tab.page.get_by_text("filter the calls").wait_for()
    assert tab.violations() == []
    tab.page.keyboard.press("Escape")
    tab.page.get_by_text("filter the calls").wait_for(state="hidden")
