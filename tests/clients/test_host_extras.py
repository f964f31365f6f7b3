"""What only some compatible hosts have: videos, speech at other paths, searches, later chats, costs of a chat."""

import io
from collections.abc import Iterator
from typing import Any

import av
import httpx2
import pytest
from openai import OpenAI

from tests.kit.served import Served, served

RULES = """
settings: {unmatched: generate}
rules:
- when: {operation: create_video, last_user: "*storm*"}
  then: {status: [in_progress, failed]}
- when: {operation: search, last_user: "*hours*"}
  then: {search_results: [{url: "https://a.example", title: "On {{ last_user }}", text: Nine}, {url: "https://b.example"}]}
- when: {operation: create_async_chat, last_user: "*fail*"}
  then: {status: [queued, failed]}
- when: {operation: chat, last_user: "*Norway*"}
  then: {text: Oslo}
- when: {operation: chat, last_user: busy}
  then: {error: rate_limit}
"""


@pytest.fixture(scope="module")
def hosts() -> Iterator[Served]:
    with served(RULES) as server:
        yield server


@pytest.fixture
def client(hosts: Served) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=hosts.address) as opened:
        yield opened


def test_videos_of_xai(client: httpx2.Client) -> None:
    asked = {"model": "grok-imagine-video", "prompt": "A red car", "duration": 6, "aspect_ratio": "9:16"}
    name = client.post("/xai/v1/videos/generations", json=asked).json()["request_id"]
    first, second = (client.get(f"/xai/v1/videos/{name}") for _ in range(2))
    assert (first.status_code, first.json()["status"]) == (202, "pending")
    done = second.json()
    assert (second.status_code, done["status"], done["video"]["duration"]) == (200, "done", 6)
    with av.open(io.BytesIO(client.get(done["video"]["url"]).content), "r") as film:
        stream = film.streams.video[0]
        assert (stream.width, stream.height, stream.frames) == (720, 1280, 6 * 24)
    name = client.post("/xai/v1/videos/edits", json={"prompt": "A storm", "video": {"url": "u"}}).json()["request_id"]
    assert [client.get(f"/xai/v1/videos/{name}").json()["status"] for _ in range(1)] == ["failed"]
    refused = client.post("/xai/v1/videos/generations", json={"model": "m"})
    assert (refused.status_code, refused.json()["error"]) == (400, "Missing required parameter: 'prompt'.")


def test_videos_of_together(client: httpx2.Client) -> None:
    asked = {"model": "m", "prompt": "A cat", "width": 1366, "height": 768, "seconds": "6"}
    made = client.post("/together/v2/videos", json=asked).json()
    assert (made["status"], made["size"], made["seconds"], made["outputs"]) == ("in_progress", "1366x768", "6", None)
    done = client.get(f"/together/v2/videos/{made['id']}").json()
    assert done["status"] == "completed"
    assert client.get(done["outputs"]["video_url"]).headers["content-type"] == "video/mp4"


@pytest.mark.parametrize(
    ("path", "size", "named"),
    [
        ("/together/v2/videos", {"width": 0}, "width"),
        ("/together/v2/videos", {"height": 10**30}, "height"),
        ("/together/v1/images/generations", {"width": 0, "height": 0}, "width"),
        ("/together/v1/images/generations", {"height": 10**30}, "height"),
        ("/openrouter/api/v1/videos", {"size": "0x0"}, None),
        ("/openrouter/api/v1/videos", {"size": "99999x16"}, None),
    ],
)
def test_sizes_that_no_picture_has(client: httpx2.Client, path: str, size: dict[str, Any], named: str | None) -> None:
    refused = client.post(path, json={"model": "m", "prompt": "A cat", **size})
    assert (refused.status_code, refused.json()["error"].get("param")) == (400, named), refused.json()


def test_a_resolution_of_nothing(client: httpx2.Client) -> None:
    asked = {"model": "m", "prompt": "A cat", "resolution": "0p"}
    made = client.post("/together/v2/videos", json=asked).json()
    assert made["size"] == "1280x720"


def test_videos_of_openrouter(client: httpx2.Client) -> None:
    made = client.post("/openrouter/api/v1/videos", json={"model": "google/veo-3.1", "prompt": "A cat"})
    assert (made.status_code, made.json()["status"]) == (202, "pending")
    seen = [client.get(made.json()["polling_url"]).json() for _ in range(2)]
    assert [each["status"] for each in seen] == ["in_progress", "completed"]
    assert client.get(seen[1]["unsigned_urls"][0]).headers["content-type"] == "video/mp4"


@pytest.mark.parametrize(
    ("codec", "kind"), [("mp3", "audio/mpeg"), ("wav", "audio/wav"), ("mulaw", "audio/basic"), ("pcm", "audio/pcm")]
)
def test_speech_of_xai(client: httpx2.Client, codec: str, kind: str) -> None:
    asked = {"text": "Hello there", "voice_id": "eve", "language": "en", "output_format": {"codec": codec}}
    spoken = client.post("/xai/v1/tts", json=asked)
    assert (spoken.status_code, spoken.headers["content-type"]) == (200, kind)
    if codec == "wav":
        heard = client.post("/xai/v1/stt", files={"file": ("a.wav", spoken.content)}, data={"language": "en"}).json()
        assert (heard["text"], [word["text"] for word in heard["words"]]) == ("Hello there", ["Hello", "there"])


def test_voices_of_xai(client: httpx2.Client) -> None:
    assert client.get("/xai/v1/tts/voices").json()["voices"][0]["voice_id"] == "eve"
    assert client.post("/xai/v1/tts", json={}).json()["error"] == "Missing required parameter: 'text'."


def test_a_search_of_perplexity(client: httpx2.Client) -> None:
    def search(**asked: Any) -> Any:
        return client.post("/perplexity/search", json=asked).json()

    found = search(query="opening hours")["results"]
    assert [(each["title"], each["url"], each["snippet"]) for each in found] == [
        ("On opening hours", "https://a.example", "Nine"),
        ("https://b.example", "https://b.example", ""),
    ]
    assert len(search(query="opening hours", max_results=1)["results"]) == 1
    several = search(query=["red cars", "blue cats"], max_results=2, search_domain_filter=["a.example"])["results"]
    assert [each["title"] for each in several] == [
        "red cars",
        "red cars: an overview",
        "blue cats",
        "blue cats: an overview",
    ]
    assert all(each["url"].startswith("https://a.example/") for each in several)
    mistakes: list[Any] = [{"query": ""}, {"query": []}, {"query": "x", "max_results": 50}, {"query": ["x"] * 6}, {}]
    for wrong in mistakes:
        assert client.post("/perplexity/search", json=wrong).status_code == 400


def test_a_chat_of_perplexity_that_is_answered_later(client: httpx2.Client) -> None:
    path = "/perplexity/async/chat/completions"

    def begin(text: str) -> Any:
        request = {"model": "sonar", "messages": [{"role": "user", "content": text}]}
        return client.post(path, json={"request": request}).json()

    made = begin("The capital of Norway?")
    assert (made["status"], made["response"]) == ("CREATED", None)
    seen = [client.get(f"{path}/{made['id']}").json() for _ in range(2)]
    assert [each["status"] for each in seen] == ["IN_PROGRESS", "COMPLETED"]
    assert seen[1]["response"]["choices"][0]["message"]["content"] == "Oslo"
    failed = begin("fail")
    assert client.get(f"{path}/{failed['id']}").json()["status"] == "FAILED"
    busy = begin("busy")
    seen = [client.get(f"{path}/{busy['id']}").json() for _ in range(2)]
    assert (seen[1]["status"], seen[1]["error_message"]) == (
        "FAILED",
        "Request rate limit exceeded, please try again later.",
    )
    assert [each["id"] for each in client.get(path).json()["requests"]] == [busy["id"], failed["id"], made["id"]]
    assert client.post(path, json={"request": {"model": "sonar"}}).status_code == 400
    assert client.post(path, json={}).status_code == 400


@pytest.mark.parametrize("stream", [False, True])
def test_the_costs_of_a_chat_at_openrouter(hosts: Served, client: httpx2.Client, stream: bool) -> None:
    with OpenAI(base_url=f"{hosts.address}/openrouter/api/v1", api_key="any") as openrouter:
        messages: Any = [{"role": "user", "content": "The capital of Norway?"}]
        answer: Any = openrouter.chat.completions.create(model="openai/gpt-5", messages=messages, stream=stream)
        if stream:
            answer, *_ = answer
    told = client.get("/openrouter/api/v1/generation", params={"id": answer.id}).json()["data"]
    assert (told["id"], told["model"], told["streamed"]) == (answer.id, "openai/gpt-5", stream)
    assert told["total_cost"] > 0
    assert told["native_tokens_prompt"] > 0
    assert client.get("/openrouter/api/v1/generation").status_code == 400


def test_a_login_at_openrouter_ends_with_a_key(client: httpx2.Client) -> None:
    made = client.post("/openrouter/api/v1/auth/keys", json={"code": "abc", "code_verifier": "x"}).json()
    assert made["key"].startswith("sk-or-v1-")
    assert client.post("/openrouter/api/v1/auth/keys", json={}).status_code == 400


def test_files_of_xai(hosts: Served) -> None:
    with OpenAI(base_url=f"{hosts.address}/xai/v1", api_key="any") as xai:
        made = xai.files.create(file=("a.txt", b"Trains leave at nine."), purpose="assistants")
        assert xai.files.content(made.id).read() == b"Trains leave at nine."
        assert made.id in [each.id for each in xai.files.list()]
        assert xai.files.delete(made.id).deleted
