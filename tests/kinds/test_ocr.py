"""The text on pages: what rules state, and what there is without one."""

import pytest

from mockserver.core.draft import ArtifactDraft
from mockserver.kinds.ocr import write_page
from tests.kit.rules import find_then_mistakes, respond

NAMES = {
    "https://a.example/files/report.v2.pdf?page=1#top": ("report.v2", "report.v2.pdf"),
    "https://a.example/scans/": ("scans", "scans"),
    "abc-12": ("abc-12", "abc-12"),
    "//": ("//", "//"),
    "": ("", ""),
}


@pytest.mark.parametrize(("document", "title", "name"), [(document, *said) for document, said in NAMES.items()])
def test_a_page_says_whose_it_is(document: str, title: str, name: str) -> None:
    assert write_page(document, 1) == f"# {title}\n\nPage 2 of {name}."


@pytest.mark.parametrize(("then", "stated"), [("{markdown: A}", "A"), ("{markdown: [A, B]}", ("A", "B"))])
def test_a_rule_states_every_page_or_a_list(then: str, stated: object) -> None:
    assert respond(then).outcome == ArtifactDraft(stated, key="markdown")


MISTAKES = {
    "{markdown: 3}": '11: "markdown" expects a text, or a list with the text of each page, not 3',
    "{markdown: []}": '11: "markdown" expects at least one item, not []',
    "{markdown: A, finish: stop}": '14: "finish" cannot be combined with "markdown"',
}


@pytest.mark.parametrize(("then", "mistake"), MISTAKES.items())
def test_mistakes(then: str, mistake: str) -> None:
    assert find_then_mistakes(then) == [mistake]
