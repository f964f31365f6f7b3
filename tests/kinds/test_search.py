"""The pages that a search finds."""

from mockserver.core.call import Call, IdShape, Message, Options, Prompt
from mockserver.core.draft import ArtifactDraft
from mockserver.core.http import HttpRequest
from mockserver.core.seed import Seed, WallClock
from mockserver.engine.answer import Author, finish_artifact
from mockserver.kinds.search import WebPage, WebPages
from tests.kit.rules import find_then_mistakes

AUTHOR = Author(Seed(), WallClock())


def find(query: str, draft: ArtifactDraft | None = None, *, most: int = 10, domains: tuple[str, ...] = ()) -> WebPages:
    call = Call(
        dialect="compatible",
        operation="search",
        model="",
        http=HttpRequest("POST", "/search"),
        meaning={"query": query},
        messages=(Message("user", query),),
        prompts=(Prompt(query),),
        documents=domains,
        options=Options(top_documents=most),
        ids=IdShape("", 36, "uuid"),
    )
    made = finish_artifact(call, draft or ArtifactDraft(), AUTHOR)
    assert isinstance(made, WebPages)
    return made


def test_invented_pages_are_about_the_query() -> None:
    found = find("red cars", most=3)
    assert [page.title for page in found.pages] == ["red cars", "red cars: an overview", "A guide to red cars"]
    assert len({page.url for page in found.pages}) == 3
    assert all("red cars" in page.text for page in found.pages)
    assert found == find("red cars", most=3)


def test_invented_pages_stand_at_the_domains_that_are_wanted() -> None:
    found = find("Wörter, ja!", most=2, domains=("a.example",))
    assert [page.url for page in found.pages] == ["https://a.example/wörter-ja-1", "https://a.example/wörter-ja-2"]


def test_a_rule_states_pages_of_which_as_many_come_as_are_wanted() -> None:
    pages = tuple([WebPage(f"https://{name}.example") for name in "abc"])
    assert find("x", ArtifactDraft(stated=pages), most=2).pages == pages[:2]
    assert find("x", ArtifactDraft(stated=())).show() == "nothing"


def test_results_of_several_queries_are_joined() -> None:
    one, other = find("a", most=1), find("b", most=1)
    assert one.join([other]).pages == (*one.pages, *other.pages)


def test_mistakes_in_rules() -> None:
    assert find_then_mistakes("{search_results: [{title: No address}]}") == [
        '18: an item of "search_results" needs "url"; write {url: "https://example.org", title: Example}'
    ]
