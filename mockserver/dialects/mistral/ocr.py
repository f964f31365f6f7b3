"""Mistral's OCR (https://docs.mistral.ai/api/endpoint/ocr): the text on the pages of a document or a picture."""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from itertools import chain
from typing import Any

from mockserver.core.call import Call, Message, Options
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json, find_in
from mockserver.core.seed import Seed
from mockserver.core.validation import Validation
from mockserver.dialects._fields import (
    BodyModel,
    Object,
    integer,
    list_of,
    literal,
    open_shape,
    optional,
    shape,
    tag_union,
    text_or,
)
from mockserver.dialects._meaning import find_meaning
from mockserver.dialects._parse import Body, complain, read_request
from mockserver.dialects._reply import make_json_reply
from mockserver.dialects.mistral.errors import refuse, write_header_lines
from mockserver.dialects.mistral.files import FileReferences
from mockserver.dialects.mistral.request import NAME, URL, translate_part
from mockserver.kinds.ocr import DocumentPage, PageImage, Pages
from mockserver.media.formats import FORMATS
from mockserver.media.picture import draw

USUAL_MODEL = "mistral-ocr-latest"
MAX_PAGES = 1_000
LAST_PAGE = 999_999_999
_Document = tag_union(
    "type",
    open_shape(type=literal("document_url"), document_url=str, document_name=optional(str)),
    open_shape(type=literal("image_url"), image_url=URL),
    open_shape(type=literal("file"), file_id=str),
)
OCR = BodyModel(
    shape(
        model=optional(str),
        document=_Document,
        id=optional(str),
        pages=optional(text_or("<an array>", list_of(integer(0, LAST_PAGE)))),
        include_image_base64=optional(bool),
        image_limit=optional(int),
        image_min_size=optional(int),
        bbox_annotation_format=optional(Object),
        document_annotation_format=optional(Object),
        document_annotation_prompt=optional(str),
        table_format=optional(literal("markdown", "html")),
        extract_header=optional(bool),
        extract_footer=optional(bool),
        include_blocks=optional(bool),
        confidence_scores_granularity=optional(str),
    )
)


def parse_ocr(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a body, whose message is the name of the document, or else its URL."""
    body, parsed = read_request(OCR, http, refuse=refuse, validation=validation, is_closed=True)
    document = parsed["document"]
    file = document.get("file_id")
    model = parsed.get("model") or USUAL_MODEL
    return Call(
        dialect=NAME,
        operation="ocr",
        model=model,
        http=http,
        meaning={**find_meaning(body, NAME, "ocr", frozenset()), "model": model},
        raw=body,
        messages=(Message("user", _name_document(document), parts=(translate_part(document),)),),
        has_instructions=bool(file),  # after which the name of the file comes, as what the user says
        references=FileReferences((file,), is_document=True) if file else None,
        options=Options(
            pages=_read_pages(parsed.get("pages")),
            schema=_read_schema(parsed.get("document_annotation_format")),
            image_schema=_read_schema(parsed.get("bbox_annotation_format")),
        ),
    )


def render_ocr(call: Call, outcome: Pages) -> Reply:
    """Return the reply with the pages of a document."""
    draw_data = cache(_draw_data) if call.raw.get("include_image_base64") is True else None
    body = {
        "pages": [_show_page(page, draw_data) for page in outcome.pages],
        "model": outcome.model,
        "document_annotation": outcome.annotation,
        "usage_info": {"pages_processed": len(outcome.pages), "doc_size_bytes": None},
    }
    return make_json_reply(200, body, lines=write_header_lines(call.http, call), headers=outcome.headers)


def _name_document(document: Body) -> str:
    """Return the name of a document, or else its URL or the id of its file; a data URL becomes a short name."""
    if name := document.get("document_name"):
        return str(name)
    url: Any = document.get("document_url") or document.get("image_url") or document.get("file_id") or ""
    if isinstance(url, Mapping):
        url = url["url"]
    if url.startswith("data:"):
        return f"document-{sha256(url.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return str(url)


def _read_pages(given: Json) -> tuple[int, ...] | None:
    """Return the places of the wanted pages: a list of them, or a text such as `0,2-4`. Raises Failure."""
    if given is None:
        return None
    spans = [range(index, index + 1) for index in given] if isinstance(given, list) else _read_spans(given)
    if sum(map(len, spans)) > MAX_PAGES:
        raise refuse(complain(f"pages must be at most {MAX_PAGES:,}", "pages"))
    return tuple(dict.fromkeys(chain.from_iterable(spans)))


def _read_spans(given: str) -> Sequence[range]:
    found = [_SPAN.fullmatch(span) for span in given.split(",")]
    if not all(found):
        raise refuse(complain("pages must be numbers and ranges such as 0,2-4", "pages"))
    return [range(int(span[1]), int(span[2] or span[1]) + 1) for span in found if span is not None]


_SPAN = re.compile(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?")


def _read_schema(form: Json) -> Json:
    """Return the JSON Schema of an annotation's format; None if no annotation is wanted."""
    if not isinstance(form, Mapping) or form.get("type", "text") == "text":
        return None
    schema = find_in(form, "json_schema", "schema")
    return {"type": "object"} if schema is None else schema


def _show_page(page: DocumentPage, draw_data: Callable[[str], str] | None) -> dict[str, Json]:
    return {
        "index": page.index,
        "markdown": page.markdown,
        "images": [_show_image(image, at, draw_data) for at, image in enumerate(page.images)],
        "tables": [],
        "hyperlinks": [],
        "header": None,
        "footer": None,
        "dimensions": {"dpi": 200, "height": 2200, "width": 1700},
    }


def _show_image(image: PageImage, at: int, draw_data: Callable[[str], str] | None) -> dict[str, Json]:
    """Return an image, the place `at` on its page; its data is drawn from what is written in its place."""
    top = 200 + at % 8 * 250
    return {
        "id": image.name,
        "top_left_x": 200,
        "top_left_y": top,
        "bottom_right_x": 200 + _WIDTH,
        "bottom_right_y": top + _HEIGHT,
        "image_base64": None if draw_data is None else draw_data(image.words or image.name),
        "image_annotation": image.annotation,
    }


def _draw_data(words: str) -> str:
    """Return a picture of words as a data URL."""
    form = FORMATS["jpeg"]
    written = b64encode(form.write(draw(words, _WIDTH, _HEIGHT, Seed()))).decode()
    return f"data:{form.media_type};base64,{written}"


_WIDTH = 320
_HEIGHT = 200
