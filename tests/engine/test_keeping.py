"""Who answers a call about kept objects: what was kept, or what was made up because nobody had made it."""

from typing import Any

import pytest

from tests.kit.local import Local, local


@pytest.fixture
def server() -> Local:
    return local("settings: {unmatched: generate}")


@pytest.mark.parametrize(
    "path",
    [
        "/openai/v1/files/file-x",
        "/openai/v1/vector_stores/vs_x",
        "/openai/v1/vector_stores/vs_x/files",
        "/gemini/v1beta/files/x",
        "/gemini/v1beta/models/veo-3/operations/x",
        "/gemini/v1beta/fileSearchStores/x/documents/y",
        "/anthropic/v1/files/file_x",
        "/anthropic/v1/messages/batches/msgbatch_x",
        "/mistral/v1/conversations/conv_x",
        "/mistral/v1/files/0e1a",
        "/xai/v1/videos/x",
    ],
)
def test_what_nobody_made_is_generated(server: Local, path: str) -> None:
    got = server.ask(path, method="GET", body=b"")
    assert (got.status, got.source) == (200, "generated")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/openai/v1/vector_stores", {"name": "a"}),
        ("/mistral/v1/agents", {"model": "m", "name": "a"}),
        ("/gemini/v1beta/fileSearchStores", {"displayName": "a"}),
    ],
)
def test_what_somebody_made_is_stored(server: Local, path: str, body: dict[str, Any]) -> None:
    made = server.ask(path, body)
    name = made.json.get("id") or made.json["name"].rpartition("/")[2]
    got = server.ask(f"{path}/{name}", method="GET", body=b"")
    assert (made.source, got.source, got.json) == ("stored", "stored", made.json)


def test_what_is_made_with_the_help_of_something_made_up_is_stored(server: Local) -> None:
    sent = {"input_file_id": "file-x", "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    assert server.ask("/openai/v1/batches", sent).source == "stored"
