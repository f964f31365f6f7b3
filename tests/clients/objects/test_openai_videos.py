"""Videos through OpenAI's client: made, polled, downloaded, changed and deleted."""

import io
from typing import Any

import av
import openai
import pytest
from openai import OpenAI

from mockserver.core.seed import Seed
from mockserver.media.formats import write_png
from mockserver.media.picture import draw

pytestmark = pytest.mark.filterwarnings("ignore:The Sora API")
RULES = """
rules:
- when: {operation: create_video, last_user: "*storm*"}
  then: {status: [queued, failed]}
- when: {operation: create_video, model: sora-2-pro, last_user: "*war*"}
  then: {error: content_filter}
"""


def test_a_video_is_made_and_downloaded(client: OpenAI) -> None:
    made = client.videos.create(prompt="A teal cat", seconds="8", size="1280x720")
    assert (made.status, made.progress, made.model, made.completed_at) == ("queued", 0, "sora-2", None)
    with pytest.raises(openai.NotFoundError, match="not ready yet"):
        client.videos.download_content(made.id)
    seen = [client.videos.retrieve(made.id) for _ in range(2)]
    assert [each.status for each in seen] == ["in_progress", "completed"]
    assert (seen[1].progress, seen[1].expires_at) == (100, seen[1].created_at + 86_400)
    with av.open(io.BytesIO(client.videos.download_content(made.id).content), "r") as film:
        stream = film.streams.video[0]
        assert (stream.width, stream.height, stream.frames) == (1280, 720, 8 * 24)
        pixel = bytes(next(film.decode(video=0)).reformat(format="rgb24").planes[0])[:3]
    assert pixel[0] < pixel[1] / 5  # teal
    for variant, kind in (("thumbnail", "image/webp"), ("spritesheet", "image/jpeg")):
        assert client.videos.download_content(made.id, variant=variant).response.headers["content-type"] == kind  # type: ignore[arg-type]


def test_polling_until_the_end(client: OpenAI) -> None:
    assert client.videos.create_and_poll(prompt="A cat").status == "completed"
    failed = client.videos.create_and_poll(prompt="A storm at sea")
    assert failed.status == "failed"
    assert failed.error is not None
    assert failed.error.code == "processing_error"


def test_videos_of_other_videos(client: OpenAI) -> None:
    first = client.videos.create(prompt="A cat", seconds="8", model="sora-2-pro", size="1280x720")
    remix = client.videos.remix(first.id, prompt="Now a dog")
    assert (remix.remixed_from_video_id, remix.seconds, remix.model, remix.prompt) == (
        first.id,
        "8",
        "sora-2-pro",
        "Now a dog",
    )
    body = {"prompt": "and a bird", "seconds": "4", "video": {"id": first.id}}
    extended: Any = client.post("/videos/extensions", body=body, cast_to=object)
    assert (extended["seconds"], extended["size"]) == ("12", "1280x720")
    assert client.videos.edit(prompt="darker", video=("a.mp4", b"film")).seconds == "4"
    assert [each.id for each in client.videos.list(limit=2)][-1] == first.id


def test_a_picture_has_the_size_of_the_video(client: OpenAI) -> None:
    def create(width: int, height: int) -> str:
        data = write_png(draw("first", width, height, Seed()))
        return client.videos.create(prompt="A cat", input_reference=("first.png", data, "image/png")).id

    assert create(720, 1280).startswith("video_")
    with pytest.raises(openai.BadRequestError, match="Inpaint image must match the requested width and height"):
        create(64, 64)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"prompt": "A cat", "seconds": "5"}, "Invalid value: '5'. Supported values are: '4', '8', '12'"),
        ({"prompt": "A cat", "size": "10x10"}, "Invalid value: '10x10'. Supported values are: '720x1280'"),
        ({"prompt": ""}, "Invalid 'prompt': empty string"),
        ({"prompt": "A war", "model": "sora-2-pro"}, "."),
    ],
)
def test_what_is_refused(client: OpenAI, asked: Any, message: str) -> None:
    with pytest.raises(openai.BadRequestError, match=message.replace("(", r"\(")):
        client.videos.create(**asked)


def test_a_deleted_video_is_gone(client: OpenAI, strict_client: OpenAI) -> None:
    made = client.videos.create(prompt="A cat")
    assert client.videos.delete(made.id).object == "video.deleted"
    with pytest.raises(openai.NotFoundError, match=f"Video with id '{made.id}' not found"):
        client.videos.retrieve(made.id)
    with pytest.raises(openai.NotFoundError):
        strict_client.videos.retrieve("video_unknown")
    assert client.videos.retrieve("video_unknown").status == "completed"
