"""The requests whose answers are golden. As a script it asks them all and prints what each got, for other processes
and other interpreters:

    python -m tests.determinism.requests [--shuffle N] [--url http://127.0.0.1:8000]

Imports nothing but mockserver and the standard library.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

import yaml

from mockserver.dialects import discover
from tests.determinism.unruled import unruled
from tests.dialects.anthropic.features import FEATURES as MESSAGE_FEATURES
from tests.dialects.anthropic.features import request as message_request
from tests.dialects.bedrock import features as bedrock
from tests.dialects.cohere import features as cohere
from tests.dialects.features import (
    FAILURES,
    FEATURES,
    HEADERS,
    RESPONSE_FEATURES,
    RESPONSE_URLS,
    TEXT_FEATURES,
    TEXT_URLS,
    URLS,
    Feature,
    request,
    response_request,
    spoken,
    text_request,
)
from tests.dialects.gemini import features as gemini
from tests.dialects.mistral import features as mistral
from tests.dialects.ollama import features as ollama
from tests.kit.asgi import app

_MESSAGES = "anthropic"
GOLDEN = Path(__file__).with_name("golden.json")


@dataclass(frozen=True)
class Request:
    name: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str] | None = None
    method: str = "POST"


def requests() -> tuple[Request, ...]:
    """Every dialect with every feature and failure of each operation, broken bodies, look-ups, what is generated."""
    ruled = (found for dialect in URLS for found in _of(dialect))
    others = (*_of_bedrock(), *_of_gemini(), *_of_messages(), *_of_cohere(), *_of_embedders())
    others = (*others, *_of_ollama(), *_of_mistral())
    return (*ruled, *others, *_of_texts(), *_of_responses(), *_of_documents(), *_of_nobody())


def rules() -> str:
    listed = [
        {
            "name": name if operation == "chat" else f"{operation} {name}",
            # to pin the operation is refused where it cannot send what a feature says; this shows what then comes
            "when": {"operation": {"starts_with": operation}, "model": name},
            "then": feature.then,
        }
        for operation, features in _OPERATIONS.items()
        for name, feature in features.items()
        if feature.then is not None
    ]
    thens = {f"{_MESSAGES} {name}": then for name, (then, _) in MESSAGE_FEATURES.items() if then} | {**FAILURES}
    thens |= {f"cohere {name}": each.then for name, each in cohere.FEATURES.items() if each.then is not None}
    listed += [{"name": name, "when": {"model": name}, "then": then} for name, then in thens.items()]
    return yaml.safe_dump({"version": 1, "rules": listed}, sort_keys=False)


def ask_here(asked: Sequence[Request]) -> dict[str, str]:
    router = app(rules())

    async def answer(one: Request) -> str:
        got = await router.answer(one.path, one.body, headers=one.headers or {}, method=one.method)
        return told(got.status, got.body)

    async def answer_all() -> list[str]:
        return await asyncio.gather(*map(answer, asked))

    return dict(zip([one.name for one in asked], asyncio.run(answer_all()), strict=True))


def ask_there(asked: Sequence[Request], url: str) -> dict[str, str]:
    """What each got from a server at `url`, eight at a time."""
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda one: _fetch(one, url), asked)
        return dict(zip([one.name for one in asked], answers, strict=True))


def assert_same(found: Mapping[str, str], golden: Mapping[str, str]) -> None:
    """Name what differs, instead of a wall of hashes."""
    changed = [name for name in golden if name in found and found[name] != golden[name]]
    assert changed == []
    assert found.keys() == golden.keys()


def shuffled(asked: Sequence[Request], seed: int) -> list[Request]:
    return Random(seed).sample(asked, len(asked))


def _fetch(one: Request, url: str) -> str:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=20)
    connection.request(one.method, one.path, one.body, dict(one.headers or {}))
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return told(answer.status, body)


def told(status: int, body: bytes) -> str:
    """Return what is golden of an answer."""
    return f"{status} {sha256(body).hexdigest()}"


def _of(dialect: str) -> Iterator[Request]:
    url, headers = URLS[dialect], HEADERS.get(dialect)
    for name in (*FEATURES, *FAILURES):
        yield Request(f"{dialect} {name}", url, _json(request(name)), headers)
    for name in FEATURES:
        yield Request(f"{dialect} {name} streamed", url, _json(request(name, stream=True, usage=True)), headers)
    for name, body in _INVALID.items():
        yield Request(f"{dialect} {name}", url, body, headers)
    root = url.partition("/chat")[0]
    yield Request(f"{dialect} models", f"{root}/models", method="GET")
    yield Request(f"{dialect} info", f"{root}/info?api-version=2024-05-01-preview", method="GET")
    yield Request(f"{dialect} unknown path", f"{root}/chat/complete")


def _of_gemini() -> Iterator[Request]:
    for name in (*gemini.names(), *FAILURES):
        for kind, url in (("", gemini.URL), (" streamed", gemini.STREAM_URL)):
            yield Request(f"gemini {name}{kind}", url.format(model=name), _json(gemini.request(name)))
    yield Request("gemini models", "/gemini/v1beta/models", method="GET")
    yield Request("gemini unknown path", "/gemini/v1beta/model")


def _of_bedrock() -> Iterator[Request]:
    for name in (*bedrock.names(), *FAILURES):
        for kind, url in (("", bedrock.URL), (" streamed", bedrock.STREAM_URL)):
            yield Request(f"bedrock {name}{kind}", url.format(model=name), _json(bedrock.request(name)))
    for model, body in bedrock.BODIES.items():
        for verb in ("invoke", "invoke-with-response-stream"):
            yield Request(f"bedrock {model} {verb}", f"/bedrock/model/{model}/{verb}", _json(body))
    yield Request("bedrock models", "/bedrock/foundation-models", method="GET")
    yield Request("bedrock unknown path", "/bedrock/model")


def _of_ollama() -> Iterator[Request]:
    for kind, stream in (("", False), (" streamed", True)):
        for name in (*ollama.names(), *FAILURES):
            yield Request(f"ollama {name}{kind}", ollama.URL, _json(ollama.request(name, stream=stream)))
        for name in ollama.text_names():
            yield Request(
                f"ollama text {name}{kind}", ollama.GENERATE_URL, _json(ollama.text_request(name, stream=stream))
            )
    for path in ("tags", "ps", "version", "chatt"):
        yield Request(f"ollama {path}", f"/ollama/api/{path}", method="GET")
    for path in ("show", "pull", "push", "create", "embeddings"):
        yield Request(
            f"ollama {path}", f"/ollama/api/{path}", _json({"model": "llama3.2", "prompt": "The sea is wide."})
        )
    for path, more in (("chat/completions", {}), ("messages", {"max_tokens": 99})):
        body = {**request("tool-call", stream=True), **more}
        body = body if not more else {key: value for key, value in body.items() if key != "tools"}
        yield Request(f"ollama {path}", f"/ollama/v1/{path}", _json(body))


def _of_mistral() -> Iterator[Request]:
    for kind, stream in (("", False), (" streamed", True)):
        for name in (*mistral.names(), *FAILURES):
            yield Request(f"mistral {name}{kind}", mistral.URL, _json(mistral.request(name, stream=stream)))
    yield Request("mistral models", "/mistral/v1/models", method="GET")
    for path in ("fim/completions", "chat/complete"):
        yield Request(f"mistral {path}", f"/mistral/v1/{path}", _json({"model": "m", "prompt": "def f("}))
    said = [{"role": "user", "content": "The sea."}]
    scan = {"document": {"type": "document_url", "document_url": "https://a.example/b.pdf"}, "pages": "0-1"}
    bodies = {"ocr": scan, "classifications": {"input": "The sea."}, "chat/moderations": {"input": said}}
    for path, body in {**bodies, "chat/classifications": {"input": {"messages": said}}}.items():
        yield Request(f"mistral {path}", f"/mistral/v1/{path}", _json({"model": "m", **body}))


def _of_texts() -> Iterator[Request]:
    for dialect, name in spoken(TEXT_URLS, TEXT_FEATURES):
        url = TEXT_URLS[dialect]
        yield Request(f"{dialect} text {name}", url, _json(text_request(name)))
        yield Request(f"{dialect} text {name} streamed", url, _json(text_request(name, stream=True)))


def _of_responses() -> Iterator[Request]:
    for dialect, name in spoken(RESPONSE_URLS, RESPONSE_FEATURES):
        url = RESPONSE_URLS[dialect]
        yield Request(f"{dialect} response {name}", url, _json(response_request(name)))
        yield Request(f"{dialect} response {name} streamed", url, _json(response_request(name, stream=True)))


def _of_messages() -> Iterator[Request]:
    url = "/anthropic/v1/messages"
    for name in MESSAGE_FEATURES:
        body = message_request(name, model=f"{_MESSAGES} {name}")
        yield Request(f"{_MESSAGES} {name}", url, _json(body))
        yield Request(f"{_MESSAGES} {name} streamed", url, _json({**body, "stream": True}))
    for name in FAILURES:
        yield Request(f"{_MESSAGES} failure {name}", url, _json(message_request("text", model=name)))
    for name, body in _INVALID.items():
        yield Request(f"{_MESSAGES} {name}", url, body)
    yield Request(f"{_MESSAGES} models", "/anthropic/v1/models?limit=3", method="GET")


def _of_cohere() -> Iterator[Request]:
    for name in cohere.FEATURES:
        body = {**cohere.request(name), "model": f"cohere {name}"}
        yield Request(f"cohere {name}", cohere.NEW, _json(body))
        yield Request(f"cohere {name} streamed", cohere.NEW, _json({**body, "stream": True}))
    for name in FAILURES:
        yield Request(f"cohere failure {name}", cohere.NEW, _json({**cohere.HI, "model": name}))
    for name, body in cohere.OLD_FEATURES.items():
        asked = {"message": cohere.HI["message"], **body}
        yield Request(f"cohere v1 {name}", cohere.OLD, _json(asked))
        yield Request(f"cohere v1 {name} streamed", cohere.OLD, _json({**asked, "stream": True}))
    for path, bodies in cohere.PATHS.items():
        for at, body in enumerate(bodies):
            yield Request(f"cohere {path} {at}", f"/cohere{path}", _json(body))
    yield Request("cohere models", "/cohere/v1/models", method="GET")
    yield Request("cohere unknown path", "/cohere/v2/chats")


def _of_embedders() -> Iterator[Request]:
    for dialect, top, kind in (("jina", "top_n", "embedding_type"), ("voyage", "top_k", "output_dtype")):
        ranked = {"model": "m", "query": "The sea", "documents": ["A street", "The sea"], top: 1}
        yield Request(f"{dialect} rerank", f"/{dialect}/v1/rerank", _json(ranked))
        vectors = {"model": "m", "input": ["The sea"], kind: "ubinary"}
        yield Request(f"{dialect} vectors", f"/{dialect}/v1/embeddings", _json(vectors))


def _of_documents() -> Iterator[Request]:
    for dialect in discover().values():
        for operation in dialect.operations:
            is_asked = dialect.name in URLS or dialect.name in ("mistral", "ollama")
            if operation.name in _DOCUMENTS and "{" not in operation.path and is_asked:
                query = (
                    "&".join(f"{key}={value}" for key, value in operation.query.items())
                    or URLS.get(dialect.name, "").partition("?")[2]
                )
                path = f"{dialect.mounts[0]}{operation.path}?{query}"
                for about, body in _DOCUMENTS[operation.name].items():
                    yield Request(f"{dialect.name} {operation.path} {about}", path, _json(body))


def _of_nobody() -> Iterator[Request]:
    for name, path, body in unruled():
        yield Request(f"openai unruled {name}", path, _json(body))


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


_OPERATIONS: Mapping[str, Mapping[str, Feature]] = {
    "chat": FEATURES,
    "completions": TEXT_FEATURES,
    "responses": RESPONSE_FEATURES,
}
_DOCUMENTS: Mapping[str, Mapping[str, Any]] = {
    "embeddings": {
        "one": {"model": "m", "input": ["The sea is wide."]},
        "several": {"model": "m", "input": ["One", "Two", "Two and a half"]},
        "short": {"model": "m", "input": ["The sea is wide."], "dimensions": 8},
        "in base64": {"model": "m", "input": ["The sea is wide."], "encoding_format": "base64"},
    },
    "moderations": {"one": {"input": "The sea."}, "several": {"input": ["The sea.", "A knight."]}},
}
_INVALID: Mapping[str, bytes] = {
    "broken body": b'{"model": "m",',
    "no messages": b'{"model": "m"}',
    "bad temperature": _json({**request("text"), "temperature": -1}),
    "bad role": _json({**request("text"), "messages": [{"role": "robot", "content": ""}]}),
    "several wrong fields": _json({**request("text"), "n": "two", "top_p": [], "stop": {}}),
}


def _main() -> None:
    parser = argparse.ArgumentParser(description="Ask every golden request and print what each got.")
    parser.add_argument("--shuffle", type=int, metavar="N", help="ask in another order")
    parser.add_argument("--url", help="ask the server at this address instead of one in this process")
    options = parser.parse_args()
    asked = requests() if options.shuffle is None else shuffled(requests(), options.shuffle)
    print(json.dumps(ask_there(asked, options.url) if options.url else ask_here(asked)))


if __name__ == "__main__":
    _main()
