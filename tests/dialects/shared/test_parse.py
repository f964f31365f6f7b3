"""Reading a body and wording complaints about it, as far as no dialect is concerned."""

from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.dialects._fields import (
    BodyModel,
    closed_shape,
    integer,
    label_member,
    list_of,
    literal,
    mapping,
    not_null,
    number,
    shape,
    tag_union,
    text,
    text_or,
    union,
)
from mockserver.dialects._parse import (
    Complaint,
    list_unknown_fields,
    read_body,
    read_object,
)

OPENING = "We could not parse the JSON body of your request: "


def request(body: bytes, *headers: tuple[bytes, bytes]) -> HttpRequest:
    return HttpRequest("POST", "/chat/completions", headers=headers, body=body)


DEEP = b'{"a":' + b"[" * 100 + b"]" * 100 + b"}"

BROKEN = {
    "empty": (b"", "the body is empty."),
    "open": (b"{", "EOF while parsing an object at line 1 column 1."),
    "trailing comma": (b'{"a":1,\n}', "trailing comma at line 2 column 1."),
    "two values": (b"{} {}", "trailing characters at line 1 column 4."),
    "NaN": (b'{"a":NaN}', "expected value at line 1 column 6."),
    "1e400": (b'{"a":1e400}', "number out of range at line 1 column 6."),
    "-1E+400": (b'{\n "a": [1,\n -1E+400]}', "number out of range at line 3 column 2."),
    "many digits and an exponent": (b'{"a":' + b"9" * 250 + b"e99}", "number out of range at line 1 column 6."),
    "absurd integer": (b'{"a":' + b"9" * 5000 + b"}", "number out of range at line 1 column 4307."),
    "lone surrogate": (b'{"a":"\\ud800"}', "lone leading surrogate in hex escape at line 1 column 13."),
    "duplicate key": (b'{"a":1,"a":2}', 'Detected duplicate key "a" at line 1 column 12.'),
    "invalid UTF-8": (b'{"a":"\xff"}', "invalid unicode code point at line 1 column 7."),
    "byte order mark": (b"\xef\xbb\xbf{}", "expected value at line 1 column 1."),
    "depth 101": (DEEP, "it is nested more than 100 levels deep."),
    "never closed": (b"[" * 300, "it is nested more than 100 levels deep."),
    "array": (b"[]", "expected an object, but got an array instead."),
}


@pytest.mark.parametrize(("body", "why"), BROKEN.values(), ids=BROKEN.keys())
def test_broken_bodies(body: bytes, why: str) -> None:
    with pytest.raises(Failure) as caught:
        read_object(request(body))
    assert caught.value.reason == "bad_json"
    assert caught.value.message == OPENING + why


WHOLE = {
    "depth 100": (b'{"a":' + b"[" * 99 + b"]" * 99 + b"}", None),
    "many shallow brackets": (b'{"a":[' + b"{}," * 300 + b"[]]}", None),
    "brackets in a string": (b'{"a":"' + b"[{" * 300 + b'\\""}', {"a": "[{" * 300 + '"'}),
    "tiny number": (b'{"a":1e-400}', {"a": 0}),
    "exponent in a string": (b'{"a":"1e400 \\" 1e400"}', {"a": '1e400 " 1e400'}),
    "digits in a string": (b'{"a":"' + b"7" * 400 + b'"}', {"a": "7" * 400}),
    "large integer": (b'{"a":' + b"9" * 300 + b"}", {"a": int("9" * 300)}),
    "surrogate pair": (b'{"a":"\\ud83d\\ude00"}', {"a": "😀"}),
    "whole numbers at the top": (b'{"a":1.0,"b":1.5,"c":[1.0]}', {"a": 1, "b": 1.5, "c": [1.0]}),
}


@pytest.mark.parametrize(("body", "value"), WHOLE.values(), ids=WHOLE.keys())
def test_whole_bodies(body: bytes, value: Any) -> None:
    found = read_object(request(body))
    assert value is None or found == value


@pytest.mark.parametrize("media", ["application/json", "application/json; charset=utf-8", "text/JSON", ""])
def test_media_types_that_pass(media: str) -> None:
    assert read_object(request(b"{}", (b"content-type", media.encode()))) == {}


def test_other_media_types_are_refused() -> None:
    with pytest.raises(Failure) as caught:
        read_object(request(b"{}", (b"content-type", b"application/x-www-form-urlencoded")))
    assert caught.value.reason == "unsupported_media_type"
    assert caught.value.message == (
        "Invalid Content-Type header (application/x-www-form-urlencoded), expected application/json. "
        "(HINT: If you're using curl, you can pass -H 'Content-Type: application/json')"
    )


Part = tag_union("type", shape(type=literal("text"), text=str), shape(type=literal("function"), function=mapping(int)))
Parts = list_of(Part)
Shape = shape(
    name=str,
    size=not_null(integer(1)),
    share=not_null(number(most=2)),
    word=not_null(literal("a", "b")),
    some=not_null(list_of(int, 1)),
    parts=not_null(Parts),
    either=not_null(text_or("<an array of objects>", Parts)),
    mode=not_null(union(label_member("<a string>", literal("on", "off")), label_member("<an object>", Part))),
    named=not_null(shape(type=literal("content"), content=str)),
    keyed=not_null(mapping(int, keys=text(most=2))),
    even=not_null(number(multiple_of=1)),
)
MODEL = BodyModel(Shape)

COMPLAINTS: dict[str, tuple[dict[str, Any], Complaint]] = {
    "bool is no integer": ({"size": True}, Complaint("type", ("size",), True, ("an integer",))),
    "below": ({"size": 0}, Complaint("below", ("size",), 0, bound=1)),
    "value of another type": ({"word": 1}, Complaint("type", ("word",), 1, ("a string",))),
    "in a list": ({"some": [1, "x"]}, Complaint("type", ("some", 1), "x", ("an integer",))),
    "wrong tag": (
        {"parts": [{"type": "x"}]},
        Complaint("value", ("parts", 0, "type"), "x", ("text", "function")),
    ),
    "tag of another type": ({"parts": [{"type": []}]}, Complaint("type", ("parts", 0, "type"), [], ("a string",))),
    "tag is no key": (
        {"parts": [{"type": "text"}]},
        Complaint("missing", ("parts", 0, "text"), {"type": "text"}),
    ),
    "tag and key alike": (
        {"parts": [{"type": "function", "function": {"a": "x"}}]},
        Complaint("type", ("parts", 0, "function", "a"), "x", ("an integer",)),
    ),
    "key like a tag, but no union": (
        {"named": {"type": "content", "content": 1}},
        Complaint("type", ("named", "content"), 1, ("a string",)),
    ),
    "no member": ({"either": 1}, Complaint("type", ("either",), 1, ("a string", "an array of objects"))),
    "value or object": ({"mode": "x"}, Complaint("value", ("mode",), "x", ("on", "off"))),
    "neither value nor object": ({"mode": 1}, Complaint("type", ("mode",), 1, ("a string", "an object"))),
    "key": ({"keyed": {"abc": 1}}, Complaint("long", ("keyed", "abc"), "abc", bound=2)),
    "odd": ({"even": 0.5}, Complaint("type", ("even",), 0.5, ("an integer",))),
}


def refuse(complaint: Complaint) -> Failure:
    return Failure("bad_parameter", details={"complaint": complaint})


@pytest.mark.parametrize(("fields", "complaint"), COMPLAINTS.values(), ids=COMPLAINTS.keys())
def test_complaints(fields: dict[str, Any], complaint: Complaint) -> None:
    body = {key: value for key, value in {"name": "x", **fields}.items() if value is not ...}
    with pytest.raises(Failure) as caught:
        read_body(MODEL, body, refuse=refuse)
    assert replace(caught.value.details["complaint"], loc=()) == complaint


def test_a_complaint_knows_the_tags_of_unions() -> None:
    with pytest.raises(Failure) as caught:
        read_body(MODEL, {"name": "x", "either": [{"type": "text", "text": 1}]}, refuse=refuse)
    complaint = caught.value.details["complaint"]
    assert (complaint.path, complaint.loc) == (("either", 0, "text"), ("either", 0, "text", "text"))


def test_all_unknown_fields_can_be_listed() -> None:
    inner = list_of(closed_shape(a=not_null(int)), fail_fast=False)
    found = [*list_unknown_fields(BodyModel(closed_shape(inner=inner)), {"inner": [{"b": 1}, {"a": "x"}, {"c": 2}]})]
    assert [(each.kind, each.path, each.got) for each in found] == [
        ("unknown", ("inner", 0, "b"), 1),
        ("unknown", ("inner", 2, "c"), 2),
    ]
    assert [*list_unknown_fields(MODEL, {"name": "x"})] == []


def test_a_complaint_of_an_unforeseen_kind_keeps_pydantics_words() -> None:
    with pytest.raises(Failure) as caught:
        read_body(BodyModel(shape(a={"type": "bytes"})), {"a": 1.5}, refuse=refuse)
    complaint = caught.value.details["complaint"]
    assert (complaint.kind, complaint.path) == ("value", ("a",))
    assert complaint.message == "Invalid value: Input should be a valid bytes"
