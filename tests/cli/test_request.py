"""What a person describes is put to the engine in this process."""

from mockserver.cli.request import planned, put
from mockserver.core.plan import Failure
from mockserver.server.explain import RequestFile
from mockserver.server.live import Sources, start

BODY = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


def test_what_is_put_is_planned() -> None:
    live = start(Sources())
    endpoint, reached = put(RequestFile("/azure/chat/completions?api-version=2024-05-01-preview", BODY), live)
    assert (endpoint.dialect.name, planned(reached.call(strict=False), live).source) == ("azure", "generated")


def test_a_refusal_of_the_engine_is_an_outcome() -> None:
    live = start(Sources((), {"models": ["other"]}, {}))
    _, reached = put(RequestFile("/v1/chat/completions", BODY), live)
    plan = planned(reached.call(strict=False), live)
    assert plan.source == "invalid"
    assert isinstance(plan.outcome, Failure)
