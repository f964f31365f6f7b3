"""File search stores through Google's client: documents that are uploaded or imported, and what becomes of them."""

import json
from base64 import b64encode
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import errors, types

from mockserver.testing import MockServer

TIMES = b"Trains to Oslo leave at nine."


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer(unmatched="generate") as running:
        yield running


@pytest.fixture
def client(server: MockServer) -> Iterator[genai.Client]:
    with genai.Client(api_key="any", http_options=types.HttpOptions(base_url=server.base_url("gemini"))) as opened:
        yield opened


@pytest.fixture
def store(client: genai.Client) -> str:
    made = client.file_search_stores.create(config={"display_name": "My Docs"})
    assert (made.name or "").startswith("fileSearchStores/my-docs-")
    return made.name or ""


def upload(client: genai.Client, store: str, **config: Any) -> Any:
    file = BytesIO(TIMES)
    settings: Any = {"mime_type": "text/plain", **config}
    return client.file_search_stores.upload_to_file_search_store(
        file=file, file_search_store_name=store, config=settings
    )


def test_an_uploaded_document(client: genai.Client, store: str) -> None:
    metadata = [{"key": "year", "numeric_value": 2026}]
    begun = upload(client, store, display_name="Train times", custom_metadata=metadata)
    assert not begun.done
    pending = client.file_search_stores.get(name=store)
    assert (pending.pending_documents_count, pending.active_documents_count) == (1, None)
    done = client.operations.get(begun)
    assert done.done
    document = client.file_search_stores.documents.get(name=done.response.document_name)
    assert (document.display_name, document.state, document.size_bytes) == (
        "Train times",
        types.DocumentState.STATE_ACTIVE,
        len(TIMES),
    )
    assert [(each.key, each.numeric_value) for each in document.custom_metadata or ()] == [("year", 2026)]
    assert client.file_search_stores.get(name=store).active_documents_count == 1


def test_an_imported_file(client: genai.Client, store: str) -> None:
    file = client.files.upload(file=BytesIO(TIMES), config={"mime_type": "text/plain", "display_name": "times"})
    done = client.operations.get(
        client.file_search_stores.import_file(file_search_store_name=store, file_name=file.name or "")
    )
    assert done.response is not None
    assert (done.response.parent, done.response.document_name is not None) == (store, True)
    assert [each.display_name for each in client.file_search_stores.documents.list(parent=store)] == ["times"]


def test_a_document_can_fail(server: MockServer, client: genai.Client, store: str) -> None:
    server.on(operation="create_vector_store_file").reply(status=["in_progress", "failed"])
    done = client.operations.get(upload(client, store))
    assert done.error["code"] == 13
    assert client.file_search_stores.get(name=store).failed_documents_count == 1


def test_only_empty_stores_are_deleted_without_force(client: genai.Client, store: str) -> None:
    upload(client, store)
    assert [each.name for each in client.file_search_stores.list()] == [store]
    with pytest.raises(errors.ClientError) as refused:
        client.file_search_stores.delete(name=store)
    assert (refused.value.code, refused.value.status) == (400, "FAILED_PRECONDITION")
    client.file_search_stores.delete(name=store, config={"force": True})
    with pytest.raises(errors.ClientError) as gone:
        client.file_search_stores.get(name=store)
    assert gone.value.code == 404


@pytest.mark.parametrize("file", ["s", 1, ["s"], True])
def test_an_upload_whose_number_holds_no_file(server: MockServer, file: Any) -> None:
    number = b64encode(json.dumps({"upload": "x", "file": file}).encode()).decode()
    path = f"/gemini/upload/v1beta/fileSearchStores/st:uploadToFileSearchStore?upload_id={number}"
    assert httpx2.post(f"{server.url}{path}").status_code < 500
