"""Pictures are shown and sounds are played, those that were sent and those that were answered."""

from base64 import b64decode
from typing import Any

import pytest
from openai import OpenAI
from playwright.sync_api import expect

from tests.browser.conftest import Backend, Inspector
from tests.kit.realtime import Talk, respond, talk, user


@pytest.fixture
def client(backend: Backend) -> Any:
    with OpenAI(base_url=f"{backend.base}/v1", api_key="any") as opened:
        yield opened


def find_sizes(tab: Inspector) -> list[list[int]]:
    """The pixels of the pictures that the page has decoded."""
    pictures = tab.page.locator("figure.shown img")
    expect(pictures.first).to_be_visible()
    script = (
        "(all) => Promise.all(all.map((each) => each.decode().then(() => [each.naturalWidth, each.naturalHeight])))"
    )
    return pictures.evaluate_all(script)


def play(tab: Inspector) -> float:
    """Play the first sound, and return how many seconds it has."""
    expect(tab.page.locator("figure.shown audio").first).to_be_visible()
    script = """(each) => new Promise((done, failed) => {
      each.muted = true;
      each.addEventListener("timeupdate", () => each.currentTime > 0 && done(each.duration));
      each.addEventListener("error", () => failed(each.error.message));
      each.play().catch(failed);
    })"""
    return tab.page.locator("figure.shown audio").first.evaluate(script)


def test_pictures_that_were_sent_and_made_are_shown(client: OpenAI, tab: Inspector) -> None:
    made = client.images.generate(model="gpt-image-2", prompt="a red cat", n=2, size="1024x1536")
    sent = ("cat.png", b64decode((made.data or [])[0].b64_json or ""))
    client.images.edit(model="gpt-image-2", image=sent, prompt="a hat", size="1024x1024", stream=True).close()
    tool: Any = {"type": "image_generation", "size": "1536x1024"}
    client.responses.create(model="gpt-5.2", input="Draw a red cat", tools=[tool])
    tab.shows("#/calls/1", "image/png")
    assert find_sizes(tab) == [[1024, 1536], [1024, 1536]]
    tab.shows("#/calls/2", "image/png")
    assert find_sizes(tab)[0] == [1024, 1536]
    tab.shows("#/calls/3", "image/png")
    assert find_sizes(tab) == [[1536, 1024]]
    assert not tab.violations()


@pytest.mark.parametrize("form", ["wav", "pcm", "mp3", "flac"])
def test_a_sound_is_played(form: Any, client: OpenAI, tab: Inspector) -> None:
    said = client.audio.speech.create(model="tts-1", voice="alloy", input="Hello there, friend", response_format=form)
    client.audio.transcriptions.create(model="whisper-1", file=(f"a.{form}", said.read()))
    tab.shows("#/calls/1", "audio/")
    assert 1.0 < play(tab) < 1.6
    if form != "pcm":  # which nothing tells from other bytes
        tab.shows("#/calls/2", "audio/")
        assert 1.0 < play(tab) < 1.6


def test_what_is_said_in_a_session_is_played(backend: Backend, tab: Inspector) -> None:
    client: Talk
    with talk(backend.base) as client:
        client.tell(user("hello"), respond())
    tab.shows("#/calls/2", "audio/wav")
    assert 1.0 < play(tab) < 2.0


def test_what_is_no_picture_is_not_served(backend: Backend, tab: Inspector) -> None:
    tab.open()
    backend.chat("hello")
    assert "media" not in backend.api("calls/1")
    assert backend.api("calls/1/media")["error"].startswith("the reply of call 1 has 0 pictures and sounds")
