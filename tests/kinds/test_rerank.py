"""Which documents fit a query, and in which order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.call import Call, IdShape, Message, Options
from mockserver.core.draft import ArtifactDraft
from mockserver.core.http import HttpRequest
from mockserver.core.seed import Seed, WallClock
from mockserver.engine.answer import Author, finish_artifact
from mockserver.kinds.rerank import RankedDocument, Ranking, StatedRanking, rank, score_likeness
from tests.kit.rules import find_then_mistakes, respond

QUERY = "How do I reset my password?"
DOCUMENTS = ("We are closed on Sundays.", "To reset your password, open the settings.", QUERY)
AUTHOR = Author(Seed(), WallClock())


def asked(*documents: str, top: int | None = None) -> Call:
    return Call(
        dialect="cohere",
        operation="rerank",
        model="rerank-v4.0-pro",
        http=HttpRequest("POST", "/v2/rerank"),
        meaning={"query": QUERY, "documents": list(documents)},
        messages=(Message("user", QUERY),),
        documents=documents,
        options=Options(top_documents=top),
        ids=IdShape("", 32, "hex"),
        message_tokens=0,
    )


def finish(call: Call, draft: ArtifactDraft) -> Ranking:
    made = finish_artifact(call, draft, AUTHOR)
    assert isinstance(made, Ranking)
    return made


def places(made: Ranking) -> list[int]:
    return [each.index for each in made.ranked]


def test_what_is_alike_comes_first() -> None:
    made = finish(asked(*DOCUMENTS), ArtifactDraft())
    assert places(made) == [2, 1, 0]
    equal, near, far = (each.score for each in made.ranked)
    assert equal == 1.0 > near > 2 * far > 0
    assert made.show().startswith("2: 1, 1: 0.")
    assert len(made.id) == 32


def test_known_scores() -> None:
    """The same on every machine and Python: a change of these is a change for users."""
    assert score_likeness(QUERY, DOCUMENTS, Seed()) == [0.0705581, 0.416668, 1.0]


def test_only_the_best_documents_are_returned_but_all_are_counted() -> None:
    made = finish(asked(*DOCUMENTS, top=1), ArtifactDraft())
    assert (places(made), made.documents) == ([2], 3)
    assert made.tokens == asked(*DOCUMENTS).prompt_tokens > asked().prompt_tokens


def test_what_is_stated() -> None:
    stated = ArtifactDraft(StatedRanking((0.1, 0.7)), "m", {"prompt": 7}, (("a", "b"),))
    made = finish(asked(*DOCUMENTS), stated)
    assert [(each.index, each.score) for each in made.ranked] == [(1, 0.7), (0, 0.1), (2, 0.0)]
    assert (made.model, made.tokens, made.headers) == ("m", 7, (("a", "b"),))


SCORES = {
    StatedRanking((0.5, 0.9, 0.2)): [0.5, 0.9],
    StatedRanking((0.5,)): [0.5, 0.0],
    StatedRanking((-2.5,)): [-2.5, -2.5],
    StatedRanking(order=(1, 0)): [0.3333333, 0.6666667],
    StatedRanking(order=(1,)): [0.3333333, 0.6666667],
    StatedRanking(order=(7, 1, 1)): [0.3333333, 0.6666667],
}


@pytest.mark.parametrize(("stated", "scores"), SCORES.items())
def test_the_scores_of_two_documents(stated: StatedRanking, scores: list[float]) -> None:
    assert stated.score(2) == scores


def test_documents_with_equal_scores_keep_their_order() -> None:
    assert rank([0.5, 0.9, 0.5, 0.9]) == tuple(RankedDocument(at, 0.9 if at % 2 else 0.5) for at in (1, 3, 0, 2))


@given(st.permutations(range(8)), st.integers(0, 8))
def test_an_order_is_followed_and_the_others_come_after_it(order: list[int], named: int) -> None:
    ranked = rank(StatedRanking(order=tuple(order[:named])).score(8))
    assert [each.index for each in ranked] == [*order[:named], *sorted(order[named:])]
    assert all(0 < each.score < 1 for each in ranked)


THEN = {
    "{rerank: [0.9, 1]}": StatedRanking((0.9, 1.0)),
    "{rerank: {order: [2, 0]}}": StatedRanking(order=(2, 0)),
}


@pytest.mark.parametrize(("then", "stated"), THEN.items())
def test_how_a_rule_states_it(then: str, stated: StatedRanking) -> None:
    assert respond(then).outcome == ArtifactDraft(stated, key="rerank")


MISTAKES = {
    "{rerank: high}": '9: "rerank" expects scores such as [0.9, 0.1], or a table with an order, not "high"',
    "{rerank: []}": '9: "rerank" expects at least one item, not []',
    "{rerank: [.nan]}": '10: an item of "rerank" expects a finite number, not NaN',
    "{rerank: {order: [-1]}}": '18: an item of "order" expects at least 0, not -1',
    "{rerank: {ordr: [1]}}": '10: unknown key "ordr"; did you mean "order"?',
    "{rerank: [1], finish: stop}": '14: "finish" cannot be combined with "rerank"',
}


@pytest.mark.parametrize(("then", "mistake"), MISTAKES.items())
def test_what_is_refused_when_the_rules_are_loaded(then: str, mistake: str) -> None:
    assert find_then_mistakes(then) == [mistake]
