"""Searches of the web: pages with their titles and what they say about a query. Without a rule, made-up pages."""

from collections.abc import Sequence
from itertools import chain, islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.tables import Table, field
from mockserver.core.call import Call
from mockserver.core.draft import ArtifactDraft
from mockserver.core.http import Headers
from mockserver.core.plan import Artifact
from mockserver.kinds.kind import ArtifactKind, Origins, ReadFile, ThenKey


class WebPage(Struct, frozen=True):
    """A page that a search has found: its address and title, what it says, and its day, if that is known."""

    url: str
    title: str = ""
    text: str = ""
    date: str | None = None


class WebPages(Artifact, frozen=True):
    """The pages of one search, the best first."""

    id: str
    pages: tuple[WebPage, ...]
    headers: Headers = ()

    def join(self, others: "Sequence[WebPages]") -> "WebPages":
        """Return these pages with those of other queries."""
        return replace(self, pages=tuple(chain(self.pages, *[other.pages for other in others])))

    def show(self) -> str:
        """Return the addresses of the pages."""
        return ", ".join(page.url for page in self.pages) or "nothing"


class WebPageSpec(Table):
    """A page that a search finds."""

    example = '{url: "https://example.org", title: Example}'

    url: str = field(min_length=1, description="its address", examples=["https://example.org"])
    title: str | None = field(None, description="its title", examples=["Opening hours"])
    text: str | None = field(None, description="what it says about the query", examples=["Open from nine."])
    date: str | None = field(None, description="the day on which it appeared", examples=["2026-01-31"])


def _compile(stated: Sequence[WebPageSpec], read_file: ReadFile) -> tuple[WebPage, ...]:
    return tuple([WebPage(each.url, each.title or each.url, each.text or "", each.date) for each in stated])


def _finish(call: Call, draft: ArtifactDraft, origins: Origins) -> WebPages:
    pages: Any = _invent_pages(call) if draft.stated is None else draft.stated
    return WebPages(origins.draw_id(), tuple(islice(pages, call.options.top_documents)), headers=draft.headers)


def _invent_pages(call: Call) -> Sequence[WebPage]:
    """Return pages for each query, at the domains that the request asks for."""
    domains = call.documents or ("example.com", "example.org", "example.net")
    pages = list[WebPage]()
    for query in [prompt.text.strip() for prompt in call.prompts]:
        path = "-".join("".join([letter if letter.isalnum() else " " for letter in query.lower()]).split())[:60]
        for number, form in enumerate(_TITLES):
            address = f"https://{domains[number % len(domains)]}/{path or 'page'}"
            text = f"{query}: what is known, where it comes from, and where to read more."
            pages.append(WebPage(f"{address}-{number + 1}", form.format(query), text, f"2023-11-{14 - number:02}"))
    return pages


_TITLES = (
    "{}", "{}: an overview", "A guide to {}", "{}, explained", "{}: questions and answers", "News: {}", "{} in numbers",
    "The history of {}", "{} for beginners", "What experts say: {}",
)  # fmt: skip

SEARCH = ArtifactKind(
    name="search",
    names_model=False,
    advice="; write search_results: [...]",
    then=ThenKey(
        key="search_results",
        value=list[WebPageSpec],
        doc="the pages that a search finds",
        beside=frozenset(("timing", "faults", "headers")),
        states="search results",
        example=[{"url": "https://example.org", "title": "Example"}],
        compile=_compile,
    ),
    body=lambda text: {"query": text},
    model_word="search",
    wire={"results": [{"url": str, "title": str, "snippet": str}]},
    finish=_finish,
)
OPERATIONS = (SEARCH,)
