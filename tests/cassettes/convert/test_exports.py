"""HAR that is whole by its specification, and that comes back as the episodes it was made of."""

import json
from typing import Any

from msgspec.structs import replace

from mockserver.cassettes.addresses import ADDRESSES
from mockserver.cassettes.convert import import_file, make_har
from mockserver.core.episode import Recorded
from mockserver.dialects import discover
from tests.cassettes.convert.kit import KNOWN
from tests.kit.episodes import AT, chat, episode
from tests.kit.local import local

# What HAR 1.2 wants of each of its objects, by the kind of each member.
ENTRY: dict[str, Any] = {
    "startedDateTime": str,
    "time": (int, float),
    "request": {
        **dict.fromkeys(("method", "url", "httpVersion"), str),
        **dict.fromkeys(("cookies", "headers", "queryString"), list),
        **dict.fromkeys(("headersSize", "bodySize"), int),
        "postData": {"mimeType": str, "text": str},
    },
    "response": {
        "status": int,
        **dict.fromkeys(("statusText", "httpVersion", "redirectURL"), str),
        **dict.fromkeys(("cookies", "headers"), list),
        "content": {"size": int, "mimeType": str, "text": str},
        **dict.fromkeys(("headersSize", "bodySize"), int),
    },
    "cache": {},
    "timings": dict.fromkeys(("send", "wait", "receive"), (int, float)),
}


def holds(value: Any, shape: Any) -> bool:
    if not isinstance(shape, dict):
        return isinstance(value, shape)
    return isinstance(value, dict) and all(name in value and holds(value[name], inner) for name, inner in shape.items())


def test_a_log_is_whole_and_comes_back() -> None:
    recorded = (chat("Hi", {"text": "Hello é"}), chat("x", {"error": 429}))
    log = make_har(recorded, "1.0", ADDRESSES)["log"]
    assert (log["version"], log["creator"]) == ("1.2", {"name": "mockserver", "version": "1.0"})
    assert all(holds(entry, ENTRY) for entry in log["entries"])
    for entry in log["entries"]:
        assert abs(sum(entry["timings"].values()) - entry["time"]) < 0.01
    again = import_file(json.dumps({"log": log}).encode(), "a.har", KNOWN)
    assert not again.skipped
    assert tuple(episode for _, episode in again.episodes) == recorded


def test_addresses_are_those_of_providers() -> None:
    assert set(ADDRESSES) >= {
        mount for dialect in discover().values() if dialect.name != "compatible" for mount in dialect.mounts
    }
    sent = chat("Hi", {"text": "a"})
    (entry,) = make_har([sent], "1", ADDRESSES)["log"]["entries"]
    assert entry["request"]["url"] == "https://api.openai.com/v1/chat/completions"
    (entry,) = make_har([sent], "1", {})["log"]["entries"]
    assert entry["request"]["url"] == "http://127.0.0.1:8000/openai/v1/chat/completions"
    path = "/azure/chat/completions?api-version=2024-05-01-preview"
    body = {"messages": [{"role": "user", "content": "a"}]}
    (entry,) = make_har([episode(local(), path, body)], "1", ADDRESSES)["log"]["entries"]
    assert entry["request"]["queryString"] == [{"name": "api-version", "value": "2024-05-01-preview"}]
    assert entry["startedDateTime"] == "2025-10-09T08:53:20.000+00:00"
    assert AT == 1760000000


def test_bytes_that_are_no_text_go_in_base64() -> None:
    odd = replace(chat("Hi", {"text": "a"}), reply=Recorded(599, (), b"\xff\x00"))
    (entry,) = make_har([odd], "1", ADDRESSES)["log"]["entries"]
    assert (entry["response"]["content"]["encoding"], entry["response"]["content"]["text"]) == ("base64", "/wA=")
    assert entry["response"]["statusText"] == ""
    ((_, again),) = import_file(json.dumps(make_har([odd], "1", ADDRESSES)).encode(), "a", KNOWN).episodes
    assert again.reply.body == b"\xff\x00"
