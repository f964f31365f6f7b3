"""Embeddings of texts and images (https://docs.cohere.com/v2/reference/embed), in v2 and v1."""

from collections.abc import Iterator
from functools import partial

from mockserver.core.call import Call, Message
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.lazy import map_lazily
from mockserver.core.tokens import read_image_size
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._embeddings import ENCODINGS, make_embedding_call
from mockserver.dialects._fields import BodyModel
from mockserver.dialects._meaning import find_meaning
from mockserver.dialects._parse import (
    Body,
    Complaint,
    complain,
    read_request,
    refuse_first,
)
from mockserver.dialects._reply import make_json_reply, make_request_uuid
from mockserver.dialects.cohere.bodies import EMBED, NAME, OLD_EMBED
from mockserver.dialects.cohere.errors import make_refuse, write_header_lines
from mockserver.kinds.embeddings import Embeddings

USUAL_MODEL = "embed-english-v2.0"  # of v1
_INPUTS = ("texts", "images", "inputs")
_BOOKKEEPING = frozenset((*_INPUTS, "embedding_types", "priority"))


def make_embed_operations() -> tuple[Operation, ...]:
    return tuple(
        Operation(
            "embeddings",
            "POST",
            f"/v{version}/embed",
            parse=partial(_parse, model=model, page=f"v{version}/reference/embed"),
            render=partial(_render, version=version),
            body=lambda text: {"texts": [text], "input_type": "search_query"},
        )
        for version, model in (("2", EMBED), ("1", OLD_EMBED))
    )


def _parse(http: HttpRequest, validation: Validation, *, model: BodyModel, page: str) -> Call:
    refuse = make_refuse(page)
    body, parsed = read_request(model, http, refuse=refuse, validation=validation, is_closed=True)
    messages = tuple(_read_messages(parsed))
    if validation is not Validation.OFF:
        refuse_first(_find_conflicts(parsed), refuse)
    elif not messages:
        raise refuse(complain(_NOTHING, "texts"))
    name = parsed.get("model") or USUAL_MODEL
    return make_embedding_call(
        http,
        body,
        dialect=NAME,
        inputs=messages,
        model=name,
        meaning={**find_meaning(body, NAME, "embeddings", _BOOKKEEPING), "model": name},
        dimensions=parsed.get("output_dimension"),
    )


def _find_conflicts(body: Body) -> Iterator[Complaint]:
    stated = [key for key in _INPUTS if body.get(key)]
    if not stated:
        yield complain(_NOTHING, "texts")
    elif len(stated) > 1:
        yield complain(f"only one of {', '.join(_INPUTS)} may be provided.", stated[1])


_NOTHING = "at least one of texts, images or inputs must be provided."


def _read_messages(body: Body) -> Iterator[Message]:
    """Yield a message for each text, image or input."""
    yield from (Message("user", text) for text in body.get("texts") or ())
    yield from (Message("user", parts=(_make_image(url),)) for url in body.get("images") or ())
    for given in body.get("inputs") or ():
        texts = [part["text"] for part in given["content"] if part["type"] == "text"]
        images = [_make_image(part["image_url"]["url"]) for part in given["content"] if part["type"] == "image_url"]
        if texts or images:
            yield Message("user", "\n".join(texts), parts=tuple(images))


def _make_image(url: str) -> Body:
    return {"type": "image_url", "image_url": {"url": url}}


def _render(call: Call, outcome: Embeddings, *, version: str) -> Reply:
    raw = call.raw
    types: list[str] = raw.get("embedding_types") or ([] if version == "1" else ["float"])
    vectors: Json
    if types:
        vectors = {name: map_lazily(ENCODINGS[name], outcome.vectors) for name in types}
    else:
        vectors = map_lazily(ENCODINGS["float"], outcome.vectors)
    urls = [part["image_url"]["url"] for message in call.messages for part in message.parts]
    images = [image for url in urls if (image := _describe_image(url)) is not None]
    texts = [message.text for message in call.messages if message.text]
    billed: dict[str, Json] = {"input_tokens": outcome.prompt_tokens} if texts else {}
    if urls:
        billed["images"] = len(urls)
    body = {
        "id": make_request_uuid(call.http, call),
        "embeddings": vectors,
        "texts": texts,
        **({"images": images} if images else {}),
        "meta": {"api_version": {"version": version}, "billed_units": billed},
        "response_type": "embeddings_by_type" if types else "embeddings_floats",
    }
    return make_json_reply(200, body, lines=write_header_lines(call.http, call), headers=outcome.headers)


def _describe_image(url: str) -> Body | None:
    size = read_image_size(url)
    if size is None:
        return None
    form = url.partition(";")[0].rpartition("/")[2]
    return {"width": size[0], "height": size[1], "format": form, "bit_depth": 24}
