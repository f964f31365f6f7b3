"""Paths that rules stub, with a dialect's API behind them or none: for the official client, plain HTTP, in tests."""

from collections.abc import Iterator

import httpx
import pytest
from openai import APIStatusError, NotFoundError, OpenAI

from mockserver.testing import MockServer
from mockserver.testing.setup import Setup
from tests.kit.raw import Raw
from tests.kit.served import Served, served

RULES = """
version: 1
rules:
  - name: image
    when: {path: /v1/images/generations, param.prompt: "*cat*"}
    then: {json: {created: 1, data: [{url: "https://img.test/{{ body.prompt }}.png"}]}}
  - name: received
    when: {path: /v1/audio/transcriptions, header.content-type: multipart/form-data*}
    then: {json: {text: Hello there}}
  - name: spoken
    when: {path: /v1/audio/speech}
    then: {raw: {headers: {content-type: audio/mpeg}, body: beep}}
  - name: upload
    when: {path: /v1/files, method: POST}
    times: 1
    then: {error: rate_limit, retry_after: 0s}
  - when: {path: /v1/files, method: POST}
    then: {json: {id: file-1, object: file, bytes: 3, created_at: 1, filename: a.txt, purpose: batch}}
  - when: {path: /v1/files, method: GET}
    then: {json: {object: list, data: [], has_more: false}, timing: {total: 30ms}}
  - when: {path: /v1/chatkit/threads, query.user: ann}
    then: {json: {object: list, data: [], has_more: false}}
  - name: page
    when: {path: /page}
    then: {raw: {headers: {content-type: text/html}, body: <script>1</script>}}
  - name: issue
    when: {path: "/repos/*/issues/7", method: [PUT, PATCH]}
    then: {raw: {status: 201, json: {at: "{{ call.method }} {{ call.path }}"}}}
"""


@pytest.fixture(scope="module")
def stubbed() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


def test_the_official_client_finds_what_rules_stub(stubbed: Served) -> None:
    with OpenAI(base_url=f"{stubbed.address}/v1", api_key="sk-test") as client:
        assert client.images.generate(prompt="a cat").data[0].url == "https://img.test/a cat.png"
        assert client.audio.transcriptions.create(model="whisper-1", file=("a.mp3", b"abc")).text == "Hello there"
        assert client.audio.speech.create(model="tts-1", voice="alloy", input="hi").content == b"beep"
        assert client.files.create(file=("a.txt", b"abc"), purpose="batch").id == "file-1"  # at the second attempt
        assert client.files.list().data == []
        with pytest.raises(
            NotFoundError, match=r"mockserver does not have this endpoint; a rule can answer it: - \{when"
        ):
            client.beta.chatkit.threads.retrieve("cthr_1")
        assert client.beta.chatkit.threads.list(user="ann").data == []
        with pytest.raises(NotFoundError, match=r'MISS  query\.user equals "ann"'):
            client.beta.chatkit.threads.list(user="bob")


def test_the_journal_and_explanations_hold_stubs(stubbed: Served) -> None:
    base = f"{stubbed.address}/ns/watched"
    got = httpx.patch(f"{base}/repos/a/issues/7", content=b"\x00\xff", headers={"content-type": "x/y"})
    assert (got.status_code, got.json()) == (201, {"at": "PATCH /repos/a/issues/7"})
    control = f"{stubbed.address}/__mockserver__/api"
    (row,) = httpx.get(f"{control}/calls?namespace=watched").json()["calls"]
    assert (row["operation"], row["source"].rpartition(" ")[2]) == ("other", "issue")
    asked = {"path": "/repos/a/issues/7", "method": "PUT", "body": {}}
    assert httpx.post(f"{control}/explain", json=asked).json()["answered_by"].endswith("issue")
    again = httpx.post(f"{control}/explain", json={"call": row["call"]}).json()
    assert again["answered_by"] == again["answered_then"]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ((), 201),
        (("origin: https://evil.test",), 403),
        (("sec-fetch-site: cross-site",), 403),
        (("service-worker: script",), 403),
        (("sec-fetch-site: same-origin", "content-type: text/plain"), 415),
        (("sec-fetch-site: same-origin", "content-type: application/json"), 201),
    ],
)
def test_pages_of_other_origins_reach_no_stub(stubbed: Served, fields: tuple[str, ...], status: int) -> None:
    head = ("PUT /repos/a/issues/7 HTTP/1.1", "host: localhost", "content-length: 2", *fields, "", "")
    with Raw(stubbed.port) as raw:
        received = raw.send("\r\n".join(head).encode() + b"{}").receive()
    assert received.status == status


@pytest.mark.parametrize("target", ["/page", "/"])
def test_a_page_runs_no_script(stubbed: Served, target: str) -> None:
    got = httpx.get(stubbed.address + target, headers={"accept": "text/html", "sec-fetch-site": "none"})
    assert got.headers["content-type"].startswith("text/html")
    assert "sandbox" in got.headers.get_list("content-security-policy")
    assert got.headers["x-content-type-options"] == "nosniff"
    rebound = httpx.get(stubbed.address + target, headers={"accept": "text/html", "host": "evil.test"})
    assert rebound.status_code == 403
    assert httpx.head(stubbed.address + target).content == b""


def test_a_test_stubs_a_path() -> None:
    with MockServer() as server:
        rule = server.on(path="/repos/*/issues", method="POST").reply(json={"number": 7})
        server.on(path="/weather", query={"city": "Oslo"}).reply(lambda call: {"json": {"at": call.http.path}})
        server.on(path="/text").reply(lambda call: "no JSON")
        server.on(path="/down").fail(503)
        assert httpx.post(f"{server.url}/repos/a/issues", json={}).json() == {"number": 7}
        assert [call.path for call in rule.calls] == ["/repos/a/issues"]
        assert httpx.get(f"{server.url}/weather?city=Oslo").json() == {"at": "/weather"}
        assert httpx.get(f"{server.url}/down").status_code == 503
        assert "answers with text, which cannot answer the operation" in httpx.get(f"{server.url}/text").text
        server.reset()  # the failed call is meant


@pytest.fixture
def mock() -> Iterator[MockServer]:
    server = MockServer().start()
    yield server
    server.stop()


def test_a_call_that_no_stub_answers_fails_the_test(mock: MockServer) -> None:
    mock.on(path="/weather", query={"city": "Oslo"}).reply(json={})
    assert httpx.get(f"{mock.url}/weather?city=Rome").status_code == 404
    (problem,) = mock.problems()
    assert problem.headline.startswith("no answer to GET /weather")
    assert 'MISS  query.city equals "Oslo": got "Rome"' in problem.text
    assert 'mockserver.on(method="GET", path="/weather").reply(json={})' in problem.text


def test_an_unmatched_request_is_not_retried(mock: MockServer) -> None:
    mock.reset(Setup.make(unmatched={"status": 501, "code": "no_rule"}))
    with pytest.raises(APIStatusError) as caught:
        mock.client().chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
    assert (caught.value.status_code, caught.value.code) == (501, "no_rule")
    assert len(mock.calls) == 1
