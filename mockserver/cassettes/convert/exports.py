"""Export episodes as HAR 1.2."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from urllib.parse import parse_qsl, quote

from mockserver.core.episode import Episode, Recorded, Sent
from mockserver.core.http import Headers
from mockserver.core.json import Json


def har(episodes: Iterable[Episode], version: str, addresses: Mapping[str, str]) -> Json:
    """A HAR log; `addresses`: the URL of each provider, by the mount of its dialect."""
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "mockserver", "version": version},
            "entries": [_entry(episode, addresses) for episode in episodes],
        }
    }


def _entry(episode: Episode, addresses: Mapping[str, str]) -> Json:
    reply = episode.reply
    first = reply.frames[0][0] if reply.frames else reply.took
    took = max(reply.took, first)
    return {
        "startedDateTime": datetime.fromtimestamp(episode.at, UTC).isoformat(timespec="milliseconds"),
        "time": _ms(took),
        "request": _request(episode.request, addresses),
        "response": _response(reply),
        "cache": {},
        "timings": {"send": 0, "wait": _ms(first), "receive": _ms(took - first)},
        "comment": f"{episode.dialect} {episode.operation} {episode.model}".strip(),
    }


def _request(sent: Sent, addresses: Mapping[str, str]) -> Json:
    posted = {"postData": _post_data(sent)} if sent.body else {}
    return {
        "method": sent.method,
        "url": _url(sent, addresses),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _headers(sent.headers),
        "queryString": [
            {"name": name, "value": value} for name, value in parse_qsl(sent.query, keep_blank_values=True)
        ],
        "headersSize": -1,
        "bodySize": len(sent.body),
        **posted,
    }


def _url(sent: Sent, addresses: Mapping[str, str]) -> str:
    """The URL of the request at the provider, or at a local server if that is unknown."""
    query = f"?{sent.query}" if sent.query else ""
    path = quote(sent.path, safe="/:@!$&'()*+,;=~-._")
    for mount, address in addresses.items():
        if path.startswith(f"{mount}/"):
            return address + path.removeprefix(mount) + query
    return f"http://127.0.0.1:8000{path}{query}"


def _post_data(sent: Sent) -> Json:
    # HAR has no base64 here: bytes that are not text are replaced.
    kind = next((value for name, value in sent.headers if name == "content-type"), "application/json")
    return {"mimeType": kind, "text": sent.body.decode("utf-8", "replace")}


def _response(reply: Recorded) -> Json:
    body = reply.bytes
    return {
        "status": reply.status,
        "statusText": _phrase(reply.status),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _headers(reply.headers),
        "content": _content(body, reply.headers),
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": len(body),
    }


def _content(body: bytes, headers: Headers) -> Json:
    kind = next((value for name, value in headers if name == "content-type"), "application/octet-stream")
    content = {"size": len(body), "mimeType": kind}
    try:
        return {**content, "text": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {**content, "text": b64encode(body).decode(), "encoding": "base64"}


def _headers(headers: Headers) -> Json:
    return [{"name": name, "value": value} for name, value in headers]


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
