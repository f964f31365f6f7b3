"""Everything around a body: sizes, media types, models, paths, methods, namespaces, queries and headers."""

from collections.abc import Mapping

import pytest

from tests.dialects.features import URLS
from tests.kit.asgi import app
from tests.server.bad_bodies import with_text
from tests.server.refusals import HI, ask, assert_refused, named

OTHER_MEDIA = {"fireworks": 422, "tzafon": 400}  # what their frameworks make of a body that they did not read


@pytest.mark.parametrize("dialect", URLS)
def test_a_body_over_the_limit_is_a_413(dialect: str) -> None:
    assert_refused(ask(dialect, with_text('"' + "x" * 200_000 + '"')), dialect, 413)
    assert ask(dialect, with_text('"' + "x" * 190_000 + '"')).status == 200


@pytest.mark.parametrize("dialect", URLS)
@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_another_media_type_is_a_415(dialect: str, media: str) -> None:
    assert_refused(ask(dialect, HI, headers={"content-type": media}), dialect, OTHER_MEDIA.get(dialect, 415))


@pytest.mark.parametrize("dialect", URLS)
@pytest.mark.parametrize(
    "media", ["application/json", "application/json; charset=utf-8", "application/problem+JSON", ""]
)
def test_json_by_any_name_is_served(dialect: str, media: str) -> None:
    assert ask(dialect, HI, headers={"content-type": media}).status == 200


@pytest.mark.parametrize("dialect", URLS)
def test_an_unknown_model_is_refused(dialect: str) -> None:
    narrow = app(models="gpt-5*,m1")
    for model in ("gpt-4", "GPT-5", "m1 ", "../m1", "m1\n", "\u2028", "m" * 10_000, "{model}", "%s", "{0.__class__}"):
        answered = narrow.ask(URLS[dialect], {**HI, "model": model})
        assert_refused(answered, dialect, 404)
    assert narrow.ask(URLS[dialect], {**HI, "model": "gpt-5-mini"}).status == 200


@pytest.mark.parametrize(
    ("path", "dialect", "near"),
    [
        ("/v1/chat/completion", "openai", " /v1/chat/completions"),
        ("/openai/v1/chat/completion", "openai", " /openai/v1/chat/completions"),
        ("/skytells/v1/chat/complete", "skytells", "POST /skytells/v1/chat/completions"),
        ("/crazyrouter/v1/model", "crazyrouter", "GET /crazyrouter/v1/models"),
        ("/azure/chat/completion?api-version=2024-05-01-preview", "azure", "POST /azure/chat/completions"),
        ("/azure/inf", "azure", "GET /azure/info"),
        ("/ns/mine/v1/chat/completion", "openai", " /v1/chat/completions"),
        ("/zzz", "openai", None),
        ("/", "openai", None),
        ("/v1/%F0%9F%8C%8A/%00/%0A", "openai", None),
        ("/v1/%ff", "openai", None),
        ("/ns/mine/skytells/v1/a%0Ab", "skytells", None),
        ("/skytells/" + "x" * 5000, "skytells", None),
        ("/azure/" + "chat/" * 1000, "azure", None),
        ("/v1/{model}/%7Bpath%7D", "openai", None),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PATCH"])
def test_an_unknown_path_is_a_404_that_names_the_nearest(
    path: str, dialect: str, near: str | None, method: str
) -> None:
    answered = ask(dialect, b"", path=path, method=method)
    assert_refused(answered, dialect, 404)
    if near is not None:
        assert near in named(answered)


@pytest.mark.parametrize(
    ("path", "dialect", "allowed"),
    [
        ("/v1/chat/completions", "openai", "POST, GET"),
        ("/openai/v1/models", "openai", "GET"),
        ("/skytells/v1/chat/completions", "skytells", "POST"),
        ("/crazyrouter/v1/models/x", "crazyrouter", "GET"),
        ("/azure/chat/completions", "azure", "POST"),
        ("/azure/info", "azure", "GET"),
        ("/v1/chat/completions/x", "openai", "GET, POST, DELETE"),
        ("/ns/mine/v1/responses", "openai", "POST"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"])
def test_a_wrong_method_is_a_405_that_names_the_right_one(path: str, dialect: str, allowed: str, method: str) -> None:
    if method in allowed.split(", "):
        return
    answered = ask(dialect, b"", path=path, method=method)
    assert_refused(answered, dialect, 405)
    assert answered.headers["allow"] == allowed


@pytest.mark.parametrize(
    "path",
    [
        "/v1/chat/completions/",
        "//v1/chat/completions",
        "/v1//chat///completions//",
        "/ns/mine/v1/chat/completions",
        "/ns/mine//v1/chat/completions/",
        "//ns//mine/openai/v1/chat/completions",
        "/ns/a%20b/v1/chat/completions",
        "/ns/%F0%9F%8C%8A/v1/chat/completions",
        "/v1/chat/completions?",
        "/v1/chat/completions?a&b=%ff&=&&a=1&a=2",
        "/v1/chat/completions?api-version=%00&stream=nonsense",
    ],
)
def test_a_path_written_oddly_is_served(path: str) -> None:
    assert ask("openai", HI, path=path).status == 200


@pytest.mark.parametrize(
    "path", ["/ns", "/ns/", "/ns/mine", "/ns/mine/", "/ns//v1/chat/completions", "/ns/a/ns/b/v1/models"]
)
def test_a_namespace_without_a_path_is_a_404(path: str) -> None:
    assert_refused(ask("openai", HI, path=path), "openai", 404)


HEADERS: tuple[Mapping[str, str], ...] = (
    {"authorization": ""},
    {"authorization": "Bearer"},
    {"authorization": "Bearer  "},
    {"authorization": "Basic dTpw"},
    {"authorization": "bearer \xff\xfe"},
    {"authorization": "Bearer " + "k" * 60_000},
    {"authorization": "Bearer {key}{0}%s"},
    {"x-api-key": ""},
    {"api-key": "\xe9"},
    {"x-stainless-retry-count": "minus one"},
    {"x-stainless-retry-count": "\xb2"},
    {"x-stainless-retry-count": "9" * 5000},
    {"x-ms-client-request-id": "\xff\x7f a"},
    {"accept": "text/html", "accept-encoding": "gzip", "expect": "nonsense"},
    {"content-type": "application/json; charset=utf-16"},
    {"azureml-model-deployment": "\xff"},
)


@pytest.mark.parametrize("dialect", URLS)
@pytest.mark.parametrize("headers", HEADERS, ids=lambda headers: repr(headers)[:50])
def test_odd_headers_harm_nobody(dialect: str, headers: Mapping[str, str]) -> None:
    assert ask(dialect, HI, headers=headers).status == 200
    strict = app(keys="sk-test")
    refused = strict.ask(URLS[dialect], HI, headers=headers)
    assert_refused(refused, dialect, 401)


@pytest.mark.parametrize("version", ["", "%00", "2024", "2024-05-01-preview ", "2024-5-1", "2024-05-01%0A", "v" * 5000])
def test_an_odd_api_version_is_refused(version: str) -> None:
    answered = ask("azure", HI, path=f"/azure/chat/completions?api-version={version}")
    assert_refused(answered, "azure", 400)
    assert answered.headers["x-ms-error-code"] == (
        "InvalidApiVersionParameter" if version else "MissingApiVersionParameter"
    )
