"""What Mistral does besides chats: OCR, moderations and classifications, of texts and of chats."""

import json
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

import pytest

from mockserver.dialects.mistral import ocr
from mockserver.media.sound_files import Speech, find_wave, write_wav
from mockserver.media.tone import read_tone
from tests.kit.local import Answered, local

Json = Any
RULES = """
rules:
- when: {operation: ocr, last_user: "*report*"}
  then: {markdown: ["# One", Two, Three]}
- when: {operation: ocr, last_user: "*letter*"}
  then: {markdown: "# Title"}
- when: {operation: ocr, last_user: "*invoice*"}
  then: {markdown: ["Vendor: ACME Corp", "Total: 12.50 ![a red boat](boat.jpeg) ![a link](https://a.example/b.png)"]}
- when: {operation: [moderations, classifications], last_user: "*attack*"}
  then: {moderation: {violence: 0.9}}
"""
SERVER = local(RULES)


def scan(document: Json, **more: Json) -> Answered:
    return SERVER.ask("/mistral/v1/ocr", {"model": "mistral-ocr-latest", "document": document, **more})


def at(url: str) -> Json:
    return {"type": "document_url", "document_url": url}


READ: list[tuple[Json, Json, Mapping[int, str]]] = [
    (at("https://a.example/report.pdf"), None, {0: "# One", 1: "Two", 2: "Three"}),
    (at("https://a.example/report.pdf"), "0, 2-9,2", {0: "# One", 2: "Three"}),
    (at("https://a.example/report.pdf"), [2, 1], {2: "Three", 1: "Two"}),
    ({**at("data:application/pdf;base64,AAAA"), "document_name": "letter"}, None, {0: "# Title"}),
    (at("https://a.example/letter.pdf"), [1, 3], {1: "# Title", 3: "# Title"}),
    ({"type": "image_url", "image_url": {"url": "https://a.example/x.png"}}, None, {0: "# x\n\nPage 1 of x.png."}),
    ({"type": "image_url", "image_url": "https://a.example/x.png"}, [1], {1: "# x\n\nPage 2 of x.png."}),
    ({"type": "file", "file_id": "abc"}, None, {0: "# abc\n\nPage 1 of abc."}),
]


@pytest.mark.parametrize(("document", "pages", "found"), READ)
def test_the_wanted_pages_of_a_document(document: Json, pages: Json, found: Mapping[int, str]) -> None:
    answer = scan(document, pages=pages).json
    assert {page["index"]: page["markdown"] for page in answer["pages"]} == found
    assert [page["index"] for page in answer["pages"]] == list(found)
    assert answer["usage_info"]["pages_processed"] == len(found)


def annotated(**kinds: str) -> Json:
    """The format of an annotation with properties of these types, as Mistral's client sends it."""
    properties = {name: {"type": kind} for name, kind in kinds.items()}
    schema = {"type": "object", "properties": properties, "required": [*kinds], "additionalProperties": False}
    return {"type": "json_schema", "json_schema": {"name": "Found", "schema": schema, "strict": True}}


def test_annotations_say_what_the_schemas_ask_of_the_text() -> None:
    found = scan(
        at("https://a.example/invoice.pdf"),
        document_annotation_format=annotated(vendor="string", total="number"),
        bbox_annotation_format=annotated(color="string", pages="integer"),
        include_image_base64=True,
    ).json
    assert json.loads(found["document_annotation"]) == {"vendor": "ACME Corp", "total": 12.5}
    assert found["pages"][0]["images"] == []
    (image,) = found["pages"][1]["images"]
    assert image["id"] == "boat.jpeg"
    assert image["image_base64"].startswith("data:image/jpeg;base64,/9j/")
    noted = json.loads(image["image_annotation"])
    assert noted["color"] == "red"
    assert isinstance(noted["pages"], int)


def test_pages_have_an_image_if_annotations_of_images_are_wanted() -> None:
    found = scan(at("https://a.example/x.pdf"), pages=[2], bbox_annotation_format=annotated(kind="string")).json
    (page,) = found["pages"]
    assert "![img-2.jpeg](img-2.jpeg)" in page["markdown"]
    assert page["images"][0]["image_base64"] is None
    assert json.loads(page["images"][0]["image_annotation"]).keys() == {"kind"}
    assert found["document_annotation"] is None


@pytest.mark.parametrize("form", [{"type": "json_object"}, {"type": "json_schema", "json_schema": {"name": "Any"}}])
def test_annotations_without_a_schema_are_objects(form: Json) -> None:
    found = scan(at("https://a.example/x.pdf"), document_annotation_format=form).json
    assert isinstance(json.loads(found["document_annotation"]), dict)
    assert scan(at("https://a.example/x.pdf"), document_annotation_format={"type": "text"}).json["pages"]


def test_images_that_say_the_same_are_drawn_and_described_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = list[str]()
    draw = ocr.draw
    monkeypatch.setattr(ocr, "draw", lambda words, *more: drawn.append(words) or draw(words, *more))
    server = local('rules: [{when: {operation: ocr}, then: {markdown: "![A boat](a.png) ![A boat](b.png)"}}]')
    body = {"document": at("https://a.example/x.pdf"), "pages": "0-9", "include_image_base64": True}
    answer = server.ask("/mistral/v1/ocr", {**body, "bbox_annotation_format": annotated(kind="string")}).json
    images = [image for page in answer["pages"] for image in page["images"]]
    assert len(images) == 20
    assert len({(image["image_base64"], image["image_annotation"]) for image in images}) == 1
    assert drawn == ["A boat"]


def test_documents_that_are_sent_whole_differ() -> None:
    one, same, other = (scan(at(f"data:application/pdf;base64,{data}")).json for data in ("AAAA", "AAAA", "BBBB"))
    assert one == same
    assert one["pages"] != other["pages"]


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ("one", "pages must be numbers and ranges such as 0,2-4"),
        ("", "pages must be numbers and ranges such as 0,2-4"),
        ("0-999999999", "pages must be at most 1,000"),
        ("0-999," * 9 + "1", "pages must be at most 1,000"),
    ],
)
def test_pages_that_no_document_has(pages: str, message: str) -> None:
    answered = scan({"type": "file", "file_id": "abc"}, pages=pages)
    assert (answered.status, answered.json["message"]) == (400, message)


@pytest.mark.parametrize(
    ("document", "place"), [({"type": "tape"}, ["type"]), ({"type": "file"}, ["file", "file_id"]), ("report.pdf", [])]
)
def test_documents_that_the_schema_refuses(document: Json, place: list[str]) -> None:
    answered = scan(document)
    assert answered.status == 422
    assert answered.json["detail"][0]["loc"] == ["body", "document", *place]


def said(text: str) -> Json:
    parts = [{"type": "text", "text": text}, {"type": "image_url", "image_url": "https://a.example/x.png"}]
    return [{"role": "user", "content": "Hello"}, {"role": "user", "content": parts}]


ATTACK, PEACE = said("The attack began."), [*said("The attack began."), {"role": "assistant", "content": "Peace."}]
FLAGGED: list[tuple[str, Json, list[bool]]] = [
    ("moderations", "An attack", [True]),
    ("moderations", ["Hello", "An attack"], [False, True]),
    ("chat/moderations", ATTACK, [True]),
    ("chat/moderations", [PEACE, ATTACK], [False, True]),
    ("chat/moderations", [[{"role": "assistant", "content": None, "messages": 1}]], [False]),
    ("chat/moderations", [{"role": "assistant", "content": None, "messages": 1}], [False]),
    ("classifications", ["An attack", "Hello"], [True, False]),
    ("chat/classifications", {"messages": ATTACK}, [True]),
    ("chat/classifications", [{"messages": ATTACK}, {"messages": PEACE}], [True, False]),
]


@pytest.mark.parametrize(("path", "given", "flagged"), FLAGGED)
def test_texts_and_the_last_messages_of_chats_are_judged(path: str, given: Json, flagged: list[bool]) -> None:
    answer = SERVER.ask(f"/mistral/v1/{path}", {"model": "m", "input": given}).json
    if path.endswith("moderations"):
        assert [each["categories"]["violence_and_threats"] for each in answer["results"]] == flagged
        scores = [each["category_scores"] for each in answer["results"]]
    else:
        scores = [each["moderation"]["scores"] for each in answer["results"]]
    assert [each["violence_and_threats"] >= 0.5 for each in scores] == flagged


def test_own_labels_are_a_whole_body() -> None:
    body = {"id": "c1", "model": "ft:m", "results": [{"intent": {"scores": {"refund": 0.9, "other": 0.1}}}]}
    server = local(json.dumps({"rules": [{"when": {"operation": "classifications"}, "then": {"raw": {"json": body}}}]}))
    assert server.ask("/mistral/v1/classifications", {"model": "ft:m", "input": "Hi"}).json == body


@pytest.mark.parametrize("given", [[], [[]], {"messages": []}, 3, [3], [{"role": "x"}], [["a"]], {}])
@pytest.mark.parametrize("path", ["moderations", "chat/moderations", "classifications", "chat/classifications"])
def test_inputs_that_the_schema_refuses(path: str, given: Json) -> None:
    answered = SERVER.ask(f"/mistral/v1/{path}", {"model": "m", "input": given})
    assert (answered.status, answered.json["detail"][0]["loc"][:2]) == (422, ["body", "input"])


@pytest.mark.parametrize("given", [[], [[]], {"messages": []}, [{"role": "x"}], [{"messages": [["a"]]}]])
@pytest.mark.parametrize("path", ["chat/moderations", "chat/classifications"])
def test_chats_without_a_message_are_nothing_if_nothing_is_checked(path: str, given: Json) -> None:
    answered = local(validation="off").ask(f"/mistral/v1/{path}", {"model": "m", "input": given})
    assert answered.status in (200, 422)


def hear(**fields: str) -> Answered:
    """Send a form with a recording in which something is said, unless it names one elsewhere."""
    parts = [f'name="{name}"\r\n\r\n{value}' for name, value in {"model": "voxtral-mini-latest", **fields}.items()]
    if "file_url" not in fields:
        parts.append('name="file"; filename="a.wav"\r\n\r\n' + write_wav(Speech("Boats leave. Now.")).decode("latin-1"))
    body = "".join(f"--x\r\ncontent-disposition: form-data; {part}\r\n" for part in parts) + "--x--\r\n"
    headers = {"content-type": "multipart/form-data; boundary=x"}
    return SERVER.ask("/mistral/v1/audio/transcriptions", body.encode("latin-1"), headers=headers)


def test_what_is_said_in_a_recording() -> None:
    heard = hear().json
    assert (heard["model"], heard["text"], heard["segments"]) == ("voxtral-mini-latest", "Boats leave. Now.", [])
    assert heard["usage"]["prompt_audio_seconds"] > 0
    timed = hear(timestamp_granularities="segment", language="en").json
    assert [segment["text"].strip() for segment in timed["segments"]] == ["Boats leave.", "Now."]
    assert timed["language"] == "en"
    *words, done = hear(stream="true").frames
    assert "".join(word["text"] for word in words) == done["text"] == heard["text"]
    assert (done["type"], done["usage"]) == ("transcription.done", heard["usage"])


def test_a_recording_that_is_named_is_not_looked_at() -> None:
    found = hear(file_url="https://a.example/a.mp3").json["text"]
    headers = {"content-type": "application/x-www-form-urlencoded"}
    body = b"model=voxtral-mini-latest&file_url=https%3A%2F%2Fa.example%2Fa.mp3"
    assert SERVER.ask("/mistral/v1/audio/transcriptions", body, headers=headers).json["text"] == found != ""


def test_speech_is_json_and_is_heard_again() -> None:
    asked = {"input": "The train leaves at noon.", "voice_id": "jane", "response_format": "wav"}
    spoken = SERVER.ask("/mistral/v1/audio/speech", asked)
    wave = find_wave(b64decode(spoken.json["audio_data"]))
    assert wave is not None
    assert read_tone(wave.samples) == "The train leaves at noon."
    *pieces, done = SERVER.ask("/mistral/v1/audio/speech", {**asked, "stream": True}).frames
    assert "".join([piece["audio_data"] for piece in pieces]) == spoken.json["audio_data"]
    assert len(pieces) > 1
    assert (done["type"], done["usage"]["completion_tokens"]) == ("speech.audio.done", 17)
    assert SERVER.ask("/mistral/v1/audio/speech", {**asked, "response_format": "midi"}).status == 422


@pytest.mark.parametrize(("field", "status"), [("voice", 200), ("voice_id", 200), ("pitch", 422)])
def test_speech_names_its_voice_as_either_client_does(field: str, status: int) -> None:
    asked = {"input": "Hi.", field: "jane"}
    assert local(validation="live").ask("/mistral/v1/audio/speech", asked).status == status
