"""Replies that a rule gives byte by byte."""

from mockserver.core.call import Json
from mockserver.core.http import Frame, Headers
from mockserver.core.plan import Raw
from mockserver.engine.recipe import Recipe, fixed
from mockserver.engine.spec.models import RawSpec
from mockserver.engine.then.headers import compile_headers
from mockserver.engine.then.json_text import json_bytes
from mockserver.engine.then.site import Site


def compile_raw(raw: RawSpec, site: Site) -> Recipe[Raw]:
    """The reply that `raw` states: nothing in it is a template, and nothing is added but a content type."""
    if raw.frames is not None and "body" in raw.model_fields_set:
        site.at("frames").refuse_key('"body" and "frames" are two bodies; keep one')
    headers = compile_headers(raw.headers, site.at("headers"))
    if all(name != "content-type" for name, _ in headers):
        headers = (*headers, ("content-type", _content_type(raw)))
    return fixed(_reply(raw, headers, site))


def _reply(raw: RawSpec, headers: Headers, site: Site) -> Raw:
    if raw.frames is not None:
        frames = tuple(_frame(frame, site.at("frames", at)) for at, frame in enumerate(raw.frames))
        return Raw(raw.status, headers, frames=frames)
    body = _bytes(raw.body, site.at("body")) if "body" in raw.model_fields_set else b""
    return Raw(raw.status, headers, body)


def _frame(value: Json, site: Site) -> Frame | bytes:
    """Text is sent as it is; any other value is the JSON of an event."""
    return _bytes(value, site) if isinstance(value, str) else Frame(json_bytes(value, site))


def _content_type(raw: RawSpec) -> str:
    if raw.frames is not None:
        return "text/event-stream"
    return "text/plain; charset=utf-8" if isinstance(raw.body, str | None) else "application/json"


def _bytes(value: Json, site: Site) -> bytes:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else json_bytes(value, site)
