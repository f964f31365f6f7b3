"""Mistral's files and batch jobs, where its own client does not go: forms, pages, refusals of the live API."""

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import pytest

from mockserver.dialects._forms import write_form
from tests.kit.local import Answered, Local, local

Json = Any
UNKNOWN = "00000000-0000-4000-8000-000000000000"


def upload(
    server: Local, data: bytes = b'{"body": {}}', *, name: str = "a.jsonl", namespace: str = "default", **fields: str
) -> Answered:
    kind, body = write_form({"file": data, **fields})
    body = re.sub(rb'(name="file"; filename=")[^"]*', lambda found: found[1] + name.encode(), body)
    return server.ask("/mistral/v1/files", body, headers={"content-type": kind}, namespace=namespace)


def look_up(server: Local, path: str, **more: Any) -> Answered:
    return server.ask(f"/mistral/v1{path}", method="GET", **more)


def begin(server: Local, **fields: Json) -> Json:
    body = {"endpoint": "/v1/chat/completions", "model": "m", "requests": [{"body": {"messages": []}}], **fields}
    return server.ask("/mistral/v1/batch/jobs", body)


def test_the_fields_of_a_file() -> None:
    server = local(unmatched="error")
    made = upload(server, purpose="batch", expiry="2", visibility="user").json
    assert [*made] == [
        "id", "object", "created_at", "bytes", "filename", "purpose", "sample_type", "num_lines", "mimetype", "source",
        "signature", "expires_at", "visibility",
    ]  # fmt: skip
    assert made["expires_at"] == made["created_at"] + 7200
    assert (made["visibility"], made["mimetype"], made["num_lines"]) == ("user", "application/jsonl", 1)
    assert upload(server, b'{"messages": []}').json["purpose"] == "fine-tune"
    assert look_up(server, "/files?include_total=false").json["total"] is None


WRONG_FORMS: Mapping[str, tuple[Mapping[str, str], bytes, Json]] = {
    "purpose": ({"purpose": "vision"}, b"{}", ["body", "purpose"]),
    "expiry": ({"purpose": "ocr", "expiry": "soon"}, b"{}", ["body", "expiry"]),
    "lines": ({"purpose": "fine-tune"}, b"%PDF-1.4", None),
    "body": ({"purpose": "batch"}, b'{"custom_id": "a"}\n{"custom_id": "b"}', None),
}


@pytest.mark.parametrize(("fields", "data", "place"), WRONG_FORMS.values(), ids=WRONG_FORMS)
def test_forms_that_are_refused(fields: Mapping[str, str], data: bytes, place: Json) -> None:
    refused = upload(local(), data, **fields)
    assert refused.status == 422
    if place is None:
        assert refused.json["detail"] == "Invalid file format."
        count = len(refused.json["errors"])
        assert refused.json["description"].startswith(f"Found {count} error{'s' if count > 1 else ''} in this file.")
    else:
        assert refused.json["detail"][0]["loc"] == place
    assert upload(local(validation="off"), data, **fields).status == 200


def test_a_request_without_a_file_is_refused() -> None:
    refused = local().ask("/mistral/v1/files", {"purpose": "batch"})
    assert (refused.status, refused.json["detail"][0]["loc"]) == (422, ["body", "file"])


def test_a_signed_url_has_the_namespace_and_the_last_part_of_the_name() -> None:
    server = local()
    path = "/mistral/v1/files"
    name = upload(server, b"x", name="in/Größe 1.pdf", namespace="a", purpose="ocr").json["id"]
    url = server.ask(f"{path}/{name}/url", method="GET", namespace="a", headers={"host": "localhost:9"}).json["url"]
    before, _, query = url.partition("?")
    assert before == f"http://localhost:9/ns/a{path}/{name}/content/{quote('Größe 1.pdf')}"
    assert query.startswith("se=")
    assert "&sp=r&sig=" in query
    found = server.ask(f"{path}/{name}/content/a.pdf", method="GET", namespace="a")
    assert (found.status, found.body) == (200, b"x")


def test_a_signed_url_needs_no_key_for_its_file_alone() -> None:
    server = local(keys=["right", "other"])
    owner = {"authorization": "Bearer right"}
    name, stranger = (
        server.ask("/mistral/v1/files", body, headers={"content-type": kind, **owner}).json["id"]
        for kind, body in (write_form({"file": data, "purpose": "ocr"}) for data in (b"x", b"y"))
    )
    url = look_up(server, f"/files/{name}/url", headers=owner).json["url"]
    path = url[url.index("/mistral") :]
    assert server.ask(path, method="GET").body == b"x"
    assert server.ask(path, method="HEAD").status == 200
    for changed in (
        path.replace(name, stranger),
        path.replace("se=2", "se=3"),
        path.partition("&sig")[0],
        f"/mistral/v1/files/{name}/content?{path.partition('?')[2]}",
        f"/mistral/v1/files/{name}?{path.partition('?')[2]}",
    ):
        assert server.ask(changed, method="GET").status == 401
    assert server.ask(path, method="GET", headers={"authorization": "Bearer wrong"}).status == 401
    assert look_up(local(keys=["right"]), f"/files/{name}", headers=owner).status == 200


@pytest.mark.parametrize("hours", [0, 169])
def test_a_signed_url_holds_for_a_week_at_most(hours: int) -> None:
    refused = look_up(local(), f"/files/any/url?expiry={hours}")
    assert (refused.status, refused.json["detail"][0]["loc"]) == (422, ["query", "expiry"])
    assert look_up(local(validation="off"), f"/files/any/url?expiry={hours}").status == 200


@pytest.mark.parametrize(("path", "place"), [("/files/{}/url", "file_id"), ("/batch/jobs/{}", "job_id")])
def test_the_live_api_takes_only_uuids(path: str, place: str) -> None:
    server = local(validation="live")
    refused = look_up(server, path.format("a"))
    assert (refused.status, refused.json["detail"][0]["loc"]) == (422, ["path", place])
    assert look_up(server, path.format(UNKNOWN)).status == 200


def test_files_have_no_statuses() -> None:
    server = local("rules: [{when: {operation: create_file}, then: {status: error}}]")
    refused = upload(server, purpose="batch")
    assert refused.status == 500
    assert "mistral has no statuses that a rule can state" in refused.json["message"]


@pytest.mark.parametrize("requests", [[{"body": None}], [None], [{"custom_id": 5, "body": "x"}], []])
def test_requests_that_cannot_be_read_are_answered_on_their_own(requests: Json) -> None:
    server = local(validation="off", unmatched="error")
    data = "\n".join(map(json.dumps, requests)).encode()
    name = upload(server, data, purpose="batch").json["id"]
    job = begin(server, requests=None, input_files=[name]).json
    for _ in range(2):
        job = look_up(server, f"/batch/jobs/{job['id']}").json
    assert (job["status"], job["failed_requests"]) == ("SUCCESS", len(requests))


def test_answers_that_a_job_lacks_are_those_of_lines() -> None:
    server = local(unmatched="error")
    job = begin(server, requests=[{"custom_id": "a", "body": {"messages": [{"role": "user", "content": "Hi"}]}}]).json
    for _ in range(2):
        job = look_up(server, f"/batch/jobs/{job['id']}").json
    (line,) = job["outputs"]
    assert f"(line 1 of the requests of {job['id']})" in json.loads(line["response"]["body"])["message"]
