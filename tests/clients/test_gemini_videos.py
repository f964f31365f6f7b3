"""Videos of Veo: at Vertex AI through Google's client, at the Gemini API as its documents show it."""

import io
from collections.abc import Iterator
from typing import Any

import av
import httpx2
import pytest
from google import genai
from google.genai import types
from google.oauth2.credentials import Credentials

from mockserver.testing import MockServer

VEO = "veo-3.1-generate-001"


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer(unmatched="generate") as running:
        running.on(operation="create_video", last_user="*storm*").reply(status=["in_progress", "failed"])
        yield running


@pytest.fixture
def vertex(server: MockServer) -> Iterator[genai.Client]:
    options = types.HttpOptions(base_url=server.base_url("gemini"))
    with genai.Client(
        vertexai=True, project="p", location="l", credentials=Credentials(token="any"), http_options=options
    ) as opened:
        yield opened


def make(client: genai.Client, prompt: str, **config: Any) -> types.GenerateVideosOperation:
    source = types.GenerateVideosSource(prompt=prompt)
    made = client.models.generate_videos(model=VEO, source=source, config=types.GenerateVideosConfig(**config))
    assert (made.name or "").startswith(f"projects/p/locations/l/publishers/google/models/{VEO}/operations/")
    assert not made.done
    return client.operations.get(made)


def test_a_video_at_vertex_ai_is_in_the_answer(vertex: genai.Client) -> None:
    done = make(vertex, "A teal cat", aspect_ratio="9:16", duration_seconds=4, resolution="1080p", number_of_videos=2)
    assert done.response is not None
    videos = [each.video for each in done.response.generated_videos or ()]
    assert len(videos) == 2
    assert videos[0] is not None
    assert videos[0].mime_type == "video/mp4"
    with av.open(io.BytesIO(videos[0].video_bytes or b""), "r") as film:
        stream = film.streams.video[0]
        assert (stream.width, stream.height, stream.frames) == (1080, 1920, 4 * 24)


def test_a_video_at_vertex_ai_is_in_the_bucket_that_is_named(vertex: genai.Client) -> None:
    done = make(vertex, "A cat", output_gcs_uri="gs://mine/videos/")
    assert done.response is not None
    first = (done.response.generated_videos or [])[0].video
    assert first is not None
    assert (first.uri or "").startswith("gs://mine/videos/")


def test_a_video_can_fail(vertex: genai.Client) -> None:
    done = make(vertex, "A storm at sea")
    assert done.error is not None
    assert (done.error["code"], done.response) == (13, None)


def test_videos_at_the_gemini_api_are_files(server: MockServer) -> None:
    base = f"{server.base_url('gemini')}/v1beta"
    asked = {"instances": [{"prompt": "A teal cat"}], "parameters": {"durationSeconds": "6", "sampleCount": 2}}
    begun = httpx2.post(f"{base}/models/veo-3.1-generate-preview:predictLongRunning", json=asked).json()
    assert begun["name"].startswith("models/veo-3.1-generate-preview/operations/")
    done = httpx2.get(f"{base}/{begun['name']}").json()
    assert done["done"] is True
    first, second = done["response"]["generateVideoResponse"]["generatedSamples"]
    assert first != second
    assert httpx2.get(first["video"]["uri"]).headers["content-type"] == "video/mp4"
    name = first["video"]["uri"].partition("/v1beta/")[2].partition(":")[0]
    with genai.Client(api_key="any", http_options=types.HttpOptions(base_url=server.base_url("gemini"))) as client:
        assert client.files.get(name=name).mime_type == "video/mp4"


def test_a_video_that_nobody_began_can_be_seen(server: MockServer) -> None:
    done = httpx2.get(f"{server.base_url('gemini')}/v1beta/models/veo-3/operations/abc").json()
    (sample,) = done["response"]["generateVideoResponse"]["generatedSamples"]
    with av.open(io.BytesIO(httpx2.get(sample["video"]["uri"]).content), "r") as film:
        assert film.streams.video[0].frames == 8 * 24


def test_only_live_knows_the_resolutions() -> None:
    asked = {"instances": [{"prompt": "x"}], "parameters": {"resolution": "9p"}}
    for validation, status in (("published", 200), ("live", 400)):
        with MockServer(unmatched="generate", validation=validation) as running:
            url = f"{running.base_url('gemini')}/v1beta/models/veo:predictLongRunning"
            assert httpx2.post(url, json=asked).status_code == status


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"instances": [{}]}, "Text prompt or image is required"),
        ({"instances": [{"prompt": "x"}], "parameters": {"durationSeconds": 20}}, "between 4 and 8"),
        ({"instances": [{"prompt": "x"}], "parameters": {"aspectRatio": "1:7"}}, "must be 16:9 or 9:16"),
        ({"instances": [{"prompt": "x"}], "parameters": {"sampleCount": 9}}, "sampleCount must be in the range"),
        ({"instances": "x"}, "Invalid value at 'instances"),
    ],
)
def test_what_is_refused(server: MockServer, asked: Any, message: str) -> None:
    url = f"{server.base_url('gemini')}/v1beta/models/veo:predictLongRunning"
    refused = httpx2.post(url, json=asked)
    assert refused.status_code == 400
    assert message in refused.json()["error"]["message"]


def test_tokens_and_their_numbers(vertex: genai.Client) -> None:
    infos = vertex.models.compute_tokens(model="gemini-2.5-flash", contents="What is your name?").tokens_info or []
    assert b"".join(infos[0].tokens or ()).decode() == "What is your name?"
    assert len(infos[0].token_ids or ()) == len(infos[0].tokens or ())
