"""Google's own client with pictures and speech: `generate_content` with modalities, and Imagen at Vertex AI's paths."""

import io
from collections.abc import Iterator

import av
import pytest
from google import genai
from google.genai import errors, types

from mockserver.media.tone import read_tone
from tests.kit.served import Served, served

RULES = """
rules:
  - {when: {operation: images, last_user: "*by a rule*"}, then: {image: {color: teal, text: Rule}}}
  - {when: {operation: speech, last_user: "*by a rule*"}, then: {audio: {text: The rule speaks}}}
  - {when: {operation: images, last_user: "*refused*"}, then: {error: 429}}
  - {when: {last_user: "*words*"}, then: {text: Only words}}
"""
PAINTER, SPEAKER, IMAGEN = "gemini-2.5-flash-image", "gemini-2.5-flash-preview-tts", "imagen-4.0-generate-001"
SOUND = "audio/L16;codec=pcm;rate=24000"


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[genai.Client]:
    options = types.HttpOptions(base_url=server.base("gemini"))
    with genai.Client(api_key="any", http_options=options) as client:
        yield client


def read_blob(answer: types.GenerateContentResponse) -> types.Blob:
    """Return the only data of an answer."""
    (part,) = answer.parts or []
    assert part.inline_data is not None
    return part.inline_data


def decode(blob: types.Blob | types.Image) -> tuple[str, tuple[int, int], bytes]:
    """Return the format of a picture, its size, and its first pixel."""
    data = blob.data if isinstance(blob, types.Blob) else blob.image_bytes
    with av.open(io.BytesIO(data or b""), "r") as file:
        frame = next(file.decode(video=0))
        pixel = bytes(frame.reformat(format="rgb24").planes[0])[:3]
        return file.streams.video[0].codec.name, (frame.width, frame.height), pixel


def speak(words: str, voice: str = "Kore") -> types.GenerateContentConfig:
    named = types.VoiceConfig(prebuilt_voice_config=types.PrebuiltVoiceConfig(voice_name=voice))
    return types.GenerateContentConfig(
        response_modalities=["AUDIO"], speech_config=types.SpeechConfig(voice_config=named)
    )


@pytest.mark.parametrize(
    ("asked", "size"),
    [
        (None, (1024, 1024)),
        (types.ImageConfig(aspect_ratio="16:9"), (1344, 768)),
        (types.ImageConfig(aspect_ratio="2:3", image_size="2K"), (1664, 2496)),
    ],
)
def test_a_model_for_pictures_answers_with_one(
    client: genai.Client, asked: types.ImageConfig | None, size: tuple[int, int]
) -> None:
    config = types.GenerateContentConfig(image_config=asked)
    answer = client.models.generate_content(model=PAINTER, contents="A teal cat", config=config)
    assert decode(read_blob(answer)) == ("png", size, bytes((0, 128, 128)))
    usage = answer.usage_metadata
    assert usage is not None
    assert usage.candidates_token_count == 1290
    assert [each.modality for each in usage.candidates_tokens_details or ()] == [types.MediaModality.IMAGE]


def test_modalities_make_any_model_draw_or_speak_and_words_come_otherwise(client: genai.Client) -> None:
    def ask(*modalities: str) -> types.GenerateContentResponse:
        config = types.GenerateContentConfig(response_modalities=list(modalities))
        return client.models.generate_content(model="gemini-2.5-flash", contents="words", config=config)

    assert read_blob(ask("TEXT", "IMAGE")).mime_type == "image/png"
    assert read_blob(ask("AUDIO")).mime_type == SOUND
    assert ask("TEXT").text == "Only words"
    painted = types.GenerateContentConfig(response_modalities=["TEXT"])
    assert client.models.generate_content(model=PAINTER, contents="words", config=painted).text == "Only words"


def test_a_picture_is_drawn_anew_in_a_chat(client: genai.Client) -> None:
    chat = client.chats.create(model=PAINTER)
    colors = [decode(read_blob(chat.send_message(words)))[2] for words in ("a red dog", "now in navy")]
    assert colors == [bytes((220, 20, 20)), bytes((0, 0, 128))]


def test_a_picture_is_streamed_whole(client: genai.Client) -> None:
    (answer,) = client.models.generate_content_stream(model=PAINTER, contents="A teal cat")
    assert decode(read_blob(answer))[2] == bytes((0, 128, 128))
    assert answer.candidates is not None
    assert answer.candidates[0].finish_reason is types.FinishReason.STOP


def test_speech_carries_its_words(client: genai.Client) -> None:
    words = "Say cheerfully: The train leaves at noon, and so do we."
    answer = client.models.generate_content(model=SPEAKER, contents=words, config=speak(words))
    blob = read_blob(answer)
    assert (blob.mime_type, read_tone(blob.data or b"")) == (SOUND, words)
    streamed = list(client.models.generate_content_stream(model=SPEAKER, contents=words, config=speak(words)))
    assert len(streamed) > 1
    assert b"".join([read_blob(each).data or b"" for each in streamed]) == blob.data
    other = client.models.generate_content(model=SPEAKER, contents=words, config=speak(words, "Puck"))
    assert read_blob(other).data != blob.data


def test_speech_ends_after_eleven_minutes_however_long_the_text_is(client: genai.Client) -> None:
    blob = read_blob(client.models.generate_content(model=SPEAKER, contents="word " * 60_000, config=speak("")))
    assert 600 < len(blob.data or b"") / 48_000 < 720  # seconds


def test_rules_state_pictures_and_speech(client: genai.Client) -> None:
    drawn = client.models.generate_content(model=PAINTER, contents="by a rule")
    assert decode(read_blob(drawn))[2] == bytes((0, 128, 128))
    said = client.models.generate_content(model=SPEAKER, contents="by a rule")
    assert read_tone(read_blob(said).data or b"") == "The rule speaks"
    with pytest.raises(errors.ClientError) as caught:
        client.models.generate_content(model=PAINTER, contents="refused")
    assert caught.value.code == 429


@pytest.mark.parametrize("config", [{"aspect_ratio": "16:7"}, {"image_size": "9K"}])
def test_unknown_sizes_are_refused(client: genai.Client, config: dict[str, str]) -> None:
    asked = types.GenerateContentConfig(image_config=types.ImageConfig.model_validate(config))
    with pytest.raises(errors.ClientError, match=f"{next(iter(config))} must be one of"):
        client.models.generate_content(model=PAINTER, contents="A cat", config=asked)


@pytest.mark.filterwarnings("ignore:The generate_images method is deprecated")
def test_imagen_makes_several_pictures(server: Served) -> None:
    options = types.HttpOptions(base_url=server.base("gemini"), api_version="v1beta1")
    with genai.Client(vertexai=True, api_key="any", http_options=options) as client:
        config = types.GenerateImagesConfig(number_of_images=3, aspect_ratio="3:4", output_mime_type="image/jpeg")
        made = client.models.generate_images(model=IMAGEN, prompt="A red cat", config=config)
        pictures = [decode(each.image) for each in made.generated_images or () if each.image is not None]
        assert [picture[:2] for picture in pictures] == [("mjpeg", (864, 1184))] * 3
        with pytest.raises(errors.ClientError, match="prompt is empty"):
            client.models.generate_images(model=IMAGEN, prompt="")
        embedded = client.models.embed_content(model="text-embedding-005", contents="words")
        assert embedded.embeddings
