"""Changed histories and recordings: what the provider took is played, and what it is asked itself gets no remark."""

from typing import Any

import pytest

from mockserver.core.episode import Recorded
from tests.kit.cassette_folder import CHAT, HEADERS, chat, episode, folder
from tests.kit.local import Answered, local

CHANGED = chat("one", messages=[{"role": "assistant", "content": "a", "tool_calls": []}])


def ask(**settings: Any) -> Answered:
    played = folder(chat=[episode(CHANGED, "Recorded.")])
    return local(cassettes=str(played.path), cassette="chat", unmatched="error", **settings).ask(CHAT, CHANGED)


@pytest.mark.parametrize("mode", ["warn", "error", "off"])
def test_what_was_recorded_is_played(mode: str) -> None:
    answered = ask(replay=mode)
    assert (answered.status, answered.source) == (200, "cassette chat.yaml#1")
    assert answered.remarks == ()


def test_a_recorded_refusal_is_played_with_a_remark() -> None:
    refused = Recorded(400, HEADERS, b'{"error": {"message": "no"}}')
    played = folder(chat=[episode(CHANGED, refused)])
    answered = local(cassettes=str(played.path), cassette="chat").ask(CHAT, CHANGED)
    assert (answered.status, answered.source, len(answered.remarks)) == (400, "cassette chat.yaml#1", 1)


def test_a_history_that_was_not_recorded() -> None:
    played = folder(chat=[episode(chat("two"), "Recorded.")])
    for mode, source in (("warn", "unmatched"), ("error", "invalid")):
        asked = local(cassettes=str(played.path), cassette="chat", replay=mode)
        assert asked.ask(CHAT, CHANGED).source == source


def test_the_provider_speaks_for_itself() -> None:
    forwarding = local("rules: [{then: {forward: true}}]", upstream={"openai": "http://127.0.0.1:9/v1"})
    answered = forwarding.ask(CHAT, CHANGED)
    assert (answered.source, answered.remarks) == ("forwarded", ())
