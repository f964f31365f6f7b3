"""Changed histories within a batch: each is a matter of its own request."""

import json
from typing import Any

from tests.dialects.replay.histories import MESSAGES, server
from tests.kit.local import Local

Json = Any
BATCHES = "/anthropic/v1/messages/batches"
HEADERS = {"anthropic-version": "2026-10-21"}
SIGNATURE = "messages.1.content.0: Invalid `signature` in `thinking` block"


def histories(asked: Local) -> list[Json]:
    """The bodies of two requests, the second of which has a signature that was changed."""
    true, changed = (
        {"model": "claude-opus-4-8", **MESSAGES.conversation(asked, "hello", model="claude-opus-4-8")} for _ in range(2)
    )
    changed["messages"][1]["content"][0]["signature"] = "no signature"
    return [true, changed]


def results(asked: Local, bodies: list[Json]) -> tuple[tuple[str, ...], list[Json]]:
    """The remarks on a batch, and its results."""
    requests = [{"custom_id": f"r{at}", "params": body} for at, body in enumerate(bodies)]
    made = asked.ask(BATCHES, {"requests": requests}, headers=HEADERS)
    assert made.status == 200, made.body
    path = f"{BATCHES}/{made.json['id']}"
    asked.ask(path, b"", method="GET", headers=HEADERS)
    lines = asked.ask(f"{path}/results", b"", method="GET", headers=HEADERS).body.splitlines()
    return made.remarks, [json.loads(line)["result"] for line in lines]


def test_a_remark_names_the_request() -> None:
    asked = server()
    (remark,), answered = results(asked, histories(asked))
    assert remark.startswith(
        f'requests.1.params.messages.1.content.0: the live provider refuses this history with 400 "{SIGNATURE}"; send'
    )
    assert [each["type"] for each in answered] == ["succeeded", "succeeded"]


def test_a_request_that_is_refused_is_a_result() -> None:
    asked = server(replay="error")
    remarks, (true, changed) = results(asked, histories(asked))
    assert (remarks, true["type"], changed["type"]) == ((), "succeeded", "errored")
    assert changed["error"]["error"] == {"type": "invalid_request_error", "message": SIGNATURE}


def test_off_says_nothing() -> None:
    asked = server(replay="off")
    remarks, answered = results(asked, histories(asked))
    assert (remarks, [each["type"] for each in answered]) == ((), ["succeeded", "succeeded"])


def test_a_few_remarks_stand_for_many() -> None:
    asked = server()
    _, changed = histories(asked)
    remarks, answered = results(asked, [changed] * 50)
    assert (len(remarks), len(answered)) == (20, 50)
