"""OpenAI's own client with images, over a real socket: the answers are pictures that another program decodes."""

import io
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import av
import httpx2
import openai
import pytest
from openai import OpenAI

from mockserver.core.seed import Seed
from mockserver.media.formats import write_gif, write_jpeg, write_png
from mockserver.media.picture import draw
from tests.kit.served import Served, served

RULES = """
rules:
  - {when: {operation: images, param.prompt: "*teal*"}, then: {image: {color: teal, text: Rule}}}
  - {when: {operation: [images, image_edits], param.prompt: "*file*"}, then: {image: logo.png}}
  - {when: {operation: images, param.prompt: "*moving*"}, then: {image: moving.gif}}
  - {when: {operation: images, param.prompt: "*whole*"}, then: {json: {created: 1, data: [{url: "http://own.test/1"}]}}}
  - {when: {operation: images, param.prompt: "*refused*"}, then: {error: content_filter}}
"""
MODEL = "gpt-image-2"
PICTURE = draw("A cat", 16, 16, Seed())
CAT = write_png(PICTURE)
MOVING = write_gif(PICTURE, frames=2)


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES, files={"logo.png": b"whatever bytes", "moving.gif": MOVING}) as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[OpenAI]:
    with OpenAI(base_url=server.base("openai"), api_key="sk-test", max_retries=0) as client:
        yield client


def decode(data: bytes) -> tuple[str, tuple[int, int], tuple[int, ...]]:
    """Return the format of a picture, its size, and its first pixel."""
    with av.open(io.BytesIO(data), "r") as file:
        frame = next(file.decode(video=0))
        first = bytes(frame.reformat(format="rgba").planes[0])[:4]
        return file.streams.video[0].codec.name, (frame.width, frame.height), tuple(first)


def read(image: openai.types.Image) -> bytes:
    assert image.b64_json is not None
    return b64decode(image.b64_json)


@pytest.mark.parametrize(("kind", "codec"), [("png", "png"), ("jpeg", "mjpeg"), ("webp", "webp"), ("gif", "gif")])
def test_a_picture_has_the_format_and_size_that_were_asked_for(client: OpenAI, kind: Any, codec: str) -> None:
    made = client.images.generate(
        model=MODEL, prompt="a cat", size="1536x1024", output_format=kind, quality="high", n=2
    )
    assert (made.size, made.quality, made.background, made.output_format) == ("1536x1024", "high", "opaque", kind)
    assert made.usage is not None
    assert made.usage.output_tokens == 2 * 6208
    pictures = [read(each) for each in made.data or ()]
    assert [decode(each)[:2] for each in pictures] == [(codec, (1536, 1024))] * 2
    assert pictures[0] != pictures[1]
    again = client.images.generate(model=MODEL, prompt="a cat", size="1536x1024", output_format=kind, n=2)
    assert [read(each) for each in again.data or ()] == pictures


@pytest.mark.parametrize("quality", ["auto", "low", "medium", "high"])
@pytest.mark.parametrize("size", ["auto", "1024x1024", "1024x1536", "1536x1024"])
def test_every_size_quality_and_background_of_every_format_is_a_picture(
    client: OpenAI, size: str, quality: Literal["auto", "low", "medium", "high"]
) -> None:
    forms: dict[str, str] = {"png": "png", "jpeg": "mjpeg", "webp": "webp"}
    width, height = map(int, ("1024x1024" if size == "auto" else size).split("x"))
    for kind, codec in forms.items():
        for background in ("opaque", "auto") if kind == "jpeg" else ("opaque", "auto", "transparent"):
            asked: Any = {"size": size, "quality": quality, "output_format": kind, "background": background}
            made = client.images.generate(model=MODEL, prompt="a teal cat", **asked)
            found, size_found, pixel = decode(read((made.data or [])[0]))
            assert (found, size_found) == (codec, (width, height))
            assert pixel[3] == (0 if background == "transparent" else 255)
            assert (made.size, made.background) == (f"{width}x{height}", background.replace("auto", "opaque"))


def test_a_gif_has_as_many_frames_as_asked_for(client: OpenAI) -> None:
    asked: Any = {"output_format": "gif"}
    more = {"frame_count": 4, "frame_duration_ms": 500}
    made = client.images.generate(model=MODEL, prompt="a teal cat", size="1024x1024", **asked, extra_body=more)
    with av.open(io.BytesIO(read((made.data or [])[0])), "r") as file:
        frames = [bytes(frame.reformat(format="rgb24").planes[0])[:3] for frame in file.decode(video=0)]
        assert file.streams.video[0].duration == 200  # hundredths of a second
    assert len(frames) == 4
    assert frames[-1] == bytes((0, 128, 128))
    assert frames == sorted(frames)
    with pytest.raises(openai.BadRequestError, match="Streaming is not supported for GIF"):
        client.images.generate(model=MODEL, prompt="a teal cat", stream=True, **asked)


def test_a_rule_states_color_and_words(client: OpenAI) -> None:
    made = client.images.generate(model=MODEL, prompt="a teal cat")
    assert decode(read((made.data or [])[0]))[2] == (0, 128, 128, 255)


def test_a_rule_sends_a_file(client: OpenAI) -> None:
    made = client.images.generate(model=MODEL, prompt="the file")
    assert read((made.data or [])[0]) == b"whatever bytes"


def test_the_file_of_a_rule_has_a_url_as_long_as_a_rule_sends_it(client: OpenAI) -> None:
    made = client.images.generate(model="dall-e-3", prompt="something moving")
    url = (made.data or [])[0].url or ""
    read = httpx2.get(url)
    assert (read.headers["content-type"], read.content) == ("image/gif", MOVING)
    other = httpx2.get(url.replace("file=", "file=0"))
    assert (other.status_code, other.json()["error"]["type"]) == (404, "invalid_request_error")


def test_a_rule_answers_with_a_whole_body(client: OpenAI) -> None:
    made = client.images.generate(model=MODEL, prompt="the whole body")
    assert (made.data or [])[0].url == "http://own.test/1"


def test_the_live_api_knows_no_other_fields() -> None:
    with served("settings: {validation: live}") as live, OpenAI(base_url=live.base("openai"), api_key="k") as client:
        with pytest.raises(openai.BadRequestError, match="Unknown parameter: 'colour'"):
            client.images.generate(model=MODEL, prompt="a cat", extra_body={"colour": "teal"})
        with pytest.raises(openai.BadRequestError, match="Unknown parameter: 'response_format'"):
            client.images.generate(model=MODEL, prompt="a cat", response_format="b64_json")
        client.images.generate(model="dall-e-3", prompt="a cat", response_format="b64_json")
        client.images.edit(model=MODEL, prompt="a cat", image=("cat.png", write_png(draw("A cat", 64, 64, Seed()))))


def test_the_safety_system_refuses_as_a_rule_says(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.images.generate(model=MODEL, prompt="refused")
    assert (caught.value.code, caught.value.type) == ("moderation_blocked", "image_generation_user_error")


def test_early_pictures_are_streamed(client: OpenAI) -> None:
    events = list(client.images.generate(model=MODEL, prompt="a red cat", stream=True, partial_images=2))
    assert [event.type for event in events] == [
        *["image_generation.partial_image"] * 2,
        "image_generation.completed",
    ]
    brightness = [sum(decode(b64decode(event.b64_json))[2][:3]) for event in events]
    assert brightness == sorted(set(brightness))
    plain = client.images.generate(model=MODEL, prompt="a red cat")
    assert b64decode(events[-1].b64_json) == read((plain.data or [])[0])


@pytest.mark.parametrize(("size", "kind"), [("1536x1024", "png"), ("1024x1536", "webp"), ("auto", "jpeg")])
def test_the_tool_of_responses_paints_as_the_endpoint_does(client: OpenAI, size: Any, kind: Any) -> None:
    tool: Any = {"type": "image_generation", "size": size, "output_format": kind}
    made = client.responses.create(model="gpt-5.2", input="Draw a red cat", tools=[tool]).output[0]
    assert made.type == "image_generation_call"
    assert made.result is not None
    image = client.images.generate(model=MODEL, prompt="Draw a red cat", size=size, output_format=kind)
    assert b64decode(made.result) == read((image.data or [])[0])


def test_an_item_says_how_its_picture_was_drawn(client: OpenAI) -> None:
    made: Any = client.responses.create(model="gpt-5.2", input="Draw a cat", tools=[{"type": "image_generation"}])
    drawn = made.output[0]
    shown = (drawn.size, drawn.quality, drawn.background, drawn.output_format)
    assert shown == ("1024x1024", "high", "opaque", "png")


def test_a_url_leads_to_the_picture(client: OpenAI) -> None:
    made = client.images.generate(model="dall-e-3", prompt="a red cat", size="1024x1024")
    first = (made.data or [])[0]
    assert first.revised_prompt == "a red cat"
    assert first.url is not None
    shown = httpx2.get(first.url)
    assert shown.headers["content-type"] == "image/png"
    inside = client.images.generate(model="dall-e-3", prompt="a red cat", response_format="b64_json")
    assert shown.content == read((inside.data or [])[0])


def test_edits_take_one_image_or_several(client: OpenAI, tmp_path: Path) -> None:
    one, other = tmp_path / "one.png", tmp_path / "other.png"
    one.write_bytes(CAT)
    other.write_bytes(write_jpeg(PICTURE))
    with one.open("rb") as first, other.open("rb") as second:
        single = client.images.edit(model=MODEL, image=first, prompt="more blue", size="1024x1536")
        several = client.images.edit(model=MODEL, image=[first, second], prompt="more blue", n=2, mask=CAT)
    assert decode(read((single.data or [])[0])) == ("png", (1024, 1536), (20, 60, 220, 255))
    assert len(several.data or []) == 2
    assert single.usage is not None
    assert single.usage.input_tokens_details.image_tokens == 272
    events = list(client.images.edit(model=MODEL, image=CAT, prompt="more blue", stream=True))
    assert [event.type for event in events] == ["image_edit.completed"]


@pytest.mark.parametrize(
    ("image", "code"),
    [
        (("cat.gif", b"GIF89a\x40\x01\xf0\x00\xf7\0\0"), "invalid_image_file"),
        (("cat.png", b"\x89PNG\r\n\x1a\n torn"), "invalid_image_file"),
        (("upload", b"%PDF-1.7"), "invalid_image_file"),
        (("cat.webp", b""), "invalid_image_file"),
        (("notes.txt", b"words"), "unsupported_file_mimetype"),
    ],
)
def test_what_is_no_picture_cannot_be_edited(client: OpenAI, image: tuple[str, bytes], code: str) -> None:
    for how in ({"image": image}, {"image": [CAT, image]}, {"image": CAT, "mask": image}):
        with pytest.raises(openai.BadRequestError) as caught:
            client.images.edit(model=MODEL, prompt="more blue", **how)  # type: ignore[call-overload]
        assert caught.value.code == code


@pytest.mark.parametrize(
    "url", ["data:image/png;base64,no", "data:image/png;base64,JVBERi0xLjc=", "data:text/plain,No"]
)
def test_what_is_no_picture_in_a_url_cannot_be_edited(server: Served, url: str) -> None:
    place = f"{server.base('openai')}/images/edits"
    picture = {"image_url": f"data:image/png;base64,{b64encode(CAT).decode()}"}
    for body in ({"images": [picture, {"image_url": url}]}, {"images": [picture], "mask": {"image_url": url}}):
        answer = httpx2.post(place, json={"prompt": "more blue", **body})
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] in ("invalid_image_file", "unsupported_file_mimetype")
    assert httpx2.post(place, json={"prompt": "more blue", "images": [picture]}).status_code == 200


def test_a_placeholder_that_says_nothing_of_itself_is_taken_for_a_picture(client: OpenAI) -> None:
    assert client.images.edit(model=MODEL, prompt="more blue", image=b"Example data").data


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"prompt": "a cat", "size": "1x"}, "size"),
        ({"prompt": "a cat", "size": "99999x99999"}, "size"),
        ({"prompt": "a cat", "size": "0x10"}, "size"),
        ({"prompt": "a cat", "size": "٣x٣"}, "size"),
        ({"prompt": "a cat", "n": 11}, "n"),
        ({"prompt": "a cat", "background": "transparent", "output_format": "jpeg"}, "background"),
        ({"prompt": "a cat", "output_compression": 50}, "output_compression"),
        ({"prompt": "a" * 32_001}, "prompt"),
        ({}, "prompt"),
    ],
)
def test_what_no_picture_can_be_is_refused(server: Served, asked: dict[str, object], param: str) -> None:
    answer = httpx2.post(f"{server.base('openai')}/images/generations", json=asked)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


@pytest.mark.parametrize("query", ["size=x&color=y", "size=99999x99999", "words=%00%ff", ""])
def test_any_url_of_a_picture_shows_one(server: Served, query: str) -> None:
    shown = httpx2.get(f"{server.base('openai')}/images/content?{query}")
    assert shown.status_code == 200
    assert decode(shown.content)[0] == "png"
