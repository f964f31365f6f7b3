"""OpenAI's own client with vector stores: files, batches of files, searches, and responses that search."""

from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.clients.payloads import MODEL

RULES = """
rules:
  - when: {last_user: find trains}
    then: {text: They leave at nine., items: [{type: file_search_call, query: trains to Oslo}]}
  - when: {last_user: find nothing}
    then: {text: Nothing., items: [{type: file_search_call, query: trains to Oslo, results: []}]}
  - when: {operation: create_vector_store_file, param.attributes: {subset: {plan: fail}}}
    then: {status: [in_progress, in_progress, failed]}
  - when: {operation: create_vector_store_file_batch, param.attributes: {subset: {plan: fail}}}
    then: {status: failed}
"""
TRAINS, FISH = "Trains to Oslo leave at nine. They are blue.", "Herring is a fish. Fish live in water."


def upload(client: OpenAI, text: str | bytes, name: str = "a.txt") -> str:
    data = text.encode() if isinstance(text, str) else text
    return client.files.create(file=(name, data), purpose="assistants").id


def fill(client: OpenAI) -> tuple[str, str, str]:
    """Return a store with two searchable files, and their ids."""
    store = client.vector_stores.create(name="docs").id
    ids = [upload(client, TRAINS, "trains.txt"), upload(client, FISH, "fish.md")]
    for name, topic in zip(ids, ("trains", "fish"), strict=True):
        client.vector_stores.files.create_and_poll(name, vector_store_id=store, attributes={"topic": topic, "year": 7})
    return store, ids[0], ids[1]


def test_a_store_is_ready_when_its_files_are(client: OpenAI) -> None:
    made = client.vector_stores.create(
        file_ids=[upload(client, TRAINS)], expires_after={"anchor": "last_active_at", "days": 2}
    )
    assert (made.status, made.file_counts.in_progress, made.usage_bytes, made.name) == ("in_progress", 1, 0, "")
    assert (made.expires_at or 0) - made.created_at == 2 * 86_400
    ready = client.vector_stores.retrieve(made.id)
    assert (ready.status, ready.file_counts.completed, ready.usage_bytes) == ("completed", 1, len(TRAINS))
    assert client.vector_stores.update(made.id, name="trains", metadata={"a": "b"}).name == "trains"
    assert [store.name for store in client.vector_stores.list()] == ["trains"]
    assert client.vector_stores.delete(made.id).deleted
    with pytest.raises(openai.NotFoundError, match=f"Vector store with id '{made.id}' not found"):
        client.vector_stores.files.list(made.id)


def test_a_file_of_a_store_until_it_is_removed(client: OpenAI) -> None:
    store, trains, fish = fill(client)
    assert [file.id for file in client.vector_stores.files.list(store, limit=1)] == [fish, trains]
    assert client.vector_stores.files.content(trains, vector_store_id=store).data[0].text == TRAINS
    changed = client.vector_stores.files.update(trains, vector_store_id=store, attributes={"topic": "buses"})
    assert changed.attributes == {"topic": "buses"}
    assert client.vector_stores.files.update(trains, vector_store_id=store, attributes=None).attributes == {}
    by_topic: Any = {"type": "eq", "key": "topic", "value": "fish"}
    assert [each.file_id for each in client.vector_stores.search(store, query="any", filters=by_topic)] == [fish]
    assert client.vector_stores.files.delete(trains, vector_store_id=store).deleted
    assert [file.id for file in client.vector_stores.files.list(store, filter="completed")] == [fish]
    assert client.files.retrieve(trains).filename == "trains.txt"


def test_a_rule_fails_a_file_after_two_looks(client: OpenAI) -> None:
    store = client.vector_stores.create().id
    failed = client.vector_stores.files.upload_and_poll(
        vector_store_id=store, file=("a.txt", TRAINS.encode()), attributes={"plan": "fail"}
    )
    assert failed.status == "failed"
    assert failed.last_error is not None
    assert failed.last_error.code == "server_error"
    assert client.vector_stores.search(store, query="trains").data == []


def test_a_batch_of_files(client: OpenAI) -> None:
    store = client.vector_stores.create().id
    batch = client.vector_stores.file_batches.upload_and_poll(
        store, files=[("a.txt", TRAINS.encode()), ("b.txt", FISH.encode())]
    )
    assert (batch.status, batch.file_counts.completed, batch.file_counts.total) == ("completed", 2, 2)
    assert len(list(client.vector_stores.file_batches.list_files(batch.id, vector_store_id=store, limit=1))) == 2
    assert client.vector_stores.retrieve(store).file_counts.completed == 2


def test_a_rule_fails_a_batch_of_files_with_all_in_it(client: OpenAI) -> None:
    store, file = client.vector_stores.create().id, upload(client, TRAINS)
    batch = client.vector_stores.file_batches.create(store, file_ids=[file], attributes={"plan": "fail"})
    assert (batch.status, batch.file_counts.failed) == ("failed", 1)


def test_a_batch_is_cancelled_with_its_files(client: OpenAI) -> None:
    store, file = client.vector_stores.create().id, upload(client, TRAINS)
    batch = client.vector_stores.file_batches.create(store, file_ids=[file])
    cancelled = client.vector_stores.file_batches.cancel(batch.id, vector_store_id=store)
    assert (cancelled.status, cancelled.file_counts.cancelled) == ("cancelled", 1)


def test_the_best_chunk_comes_first(client: OpenAI) -> None:
    store, trains, fish = fill(client)
    found = client.vector_stores.search(store, query="when do trains leave")
    assert [each.file_id for each in found] == [trains, fish]
    assert found.data[0].content[0].text == TRAINS
    assert 1 >= found.data[0].score > found.data[1].score >= 0
    several: Any = client.vector_stores.search(store, query=["fish", "trains leave"], max_num_results=1)
    assert (several.search_query, len(several.data)) == (["fish", "trains leave"], 1)
    likely = client.vector_stores.search(store, query="trains", ranking_options={"score_threshold": 0.5})
    assert [each.file_id for each in likely] == [trains]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ({"type": "eq", "key": "topic", "value": "fish"}, ["fish.md"]),
        ({"type": "ne", "key": "topic", "value": "fish"}, ["trains.txt"]),
        ({"type": "in", "key": "topic", "value": ["fish", "cats"]}, ["fish.md"]),
        ({"type": "nin", "key": "topic", "value": ["fish"]}, ["trains.txt"]),
        ({"type": "gte", "key": "year", "value": 8}, []),
        ({"type": "lt", "key": "topic", "value": 8}, []),
        ({"type": "eq", "key": "color", "value": "red"}, []),
        ({"type": "ne", "key": "color", "value": "red"}, ["fish.md", "trains.txt"]),
        (
            {
                "type": "or",
                "filters": [
                    {"type": "eq", "key": "topic", "value": "cats"},
                    {"type": "and", "filters": [{"type": "gt", "key": "year", "value": 6}]},
                ],
            },
            ["fish.md", "trains.txt"],
        ),
    ],
)
def test_filters_are_exact(client: OpenAI, condition: Any, found: list[str]) -> None:
    store, *_ = fill(client)
    results = client.vector_stores.search(store, query="anything", filters=condition)
    assert sorted(each.filename for each in results) == found


def test_a_search_has_a_limit_of_queries(client: OpenAI) -> None:
    store, trains, _ = fill(client)
    most = client.vector_stores.search(store, query=["cats"] * 31 + ["trains leave"], max_num_results=1)
    assert [each.file_id for each in most] == [trains]
    with pytest.raises(openai.BadRequestError, match="32"):
        client.vector_stores.search(store, query=["cats"] * 33)


def test_long_texts_are_searched_in_chunks(client: OpenAI) -> None:
    text = " ".join(f"word{n}" for n in range(2_000))
    store = client.vector_stores.create().id
    client.vector_stores.files.create_and_poll(
        upload(client, text),
        vector_store_id=store,
        chunking_strategy={"type": "static", "static": {"max_chunk_size_tokens": 100, "chunk_overlap_tokens": 50}},
    )
    found = client.vector_stores.search(store, query="word1500", max_num_results=3)
    assert ("word1500" in found.data[0].content[0].text, found.data[0].score) == (True, 1)
    assert len(found.data[0].content[0].text) < len(text) / 10


def test_files_of_other_formats_are_found_by_name_and_by_what_is_readable(client: OpenAI) -> None:
    store = client.vector_stores.create().id
    file = upload(client, b"%PDF-1.7\n\xff\xfe (Trains to Oslo) Tj \0\1", "timetable.pdf")
    client.vector_stores.files.create_and_poll(file, vector_store_id=store)
    assert client.vector_stores.search(store, query="timetable Oslo").data[0].score == 1


@pytest.mark.parametrize("streamed", [False, True])
def test_a_response_cites_what_its_search_finds(client: OpenAI, streamed: bool) -> None:
    store, trains, fish = fill(client)
    asked: dict[str, Any] = {
        "model": MODEL,
        "input": "find trains",
        "tools": [{"type": "file_search", "vector_store_ids": [store]}],
        "include": ["file_search_call.results"],
    }
    if streamed:
        with client.responses.stream(**asked) as stream:
            kinds = [event.type for event in stream]
            answer = stream.get_final_response()
        assert "response.file_search_call.completed" in kinds
        assert "response.output_text.annotation.added" in kinds
    else:
        answer = client.responses.create(**asked)
    searched, said = sorted(answer.output, key=lambda item: item.type)
    assert searched.type == "file_search_call"
    assert [(each.file_id, each.text) for each in searched.results or ()] == [(trains, TRAINS), (fish, FISH)]
    assert said.type == "message"
    assert said.content[0].type == "output_text"
    [note] = said.content[0].annotations
    assert note.type == "file_citation"
    assert (note.file_id, note.filename, note.index) == (trains, "trains.txt", len("They leave at nine."))
    kept = client.responses.retrieve(answer.id, include=["file_search_call.results"])
    assert [item.id for item in kept.output] == [item.id for item in answer.output]
    assert trains in str(kept.output[-1])


def test_results_in_a_rule_are_not_changed(client: OpenAI) -> None:
    store, *_ = fill(client)
    tools: Any = [{"type": "file_search", "vector_store_ids": [store]}]
    answer = client.responses.create(
        model=MODEL, input="find nothing", tools=tools, include=["file_search_call.results"]
    )
    searched = next(item for item in answer.output if item.type == "file_search_call")
    assert searched.results == []


def test_a_question_is_answered_from_the_files(client: OpenAI) -> None:
    store, trains, _ = fill(client)
    tools: Any = [{"type": "file_search", "vector_store_ids": [store]}]
    searched, said = client.responses.create(model=MODEL, input="When do trains to Oslo leave?", tools=tools).output
    assert searched.type == "file_search_call"
    assert said.type == "message"
    assert said.content[0].type == "output_text"
    assert said.content[0].text == "Trains to Oslo leave at nine."
    (note,) = said.content[0].annotations
    assert note.type == "file_citation"
    assert (note.file_id, note.index) == (trains, len("Trains to Oslo leave at nine."))


@pytest.mark.parametrize(
    "asked",
    [
        {"input": "Tell me about the history of chess"},
        {"input": "trains to Oslo", "tool_choice": "none"},
        {"input": "trains to Oslo", "max_output_tokens": 16, "text": {"format": {"type": "json_object"}}},
    ],
    ids=["other", "none", "json"],
)
def test_what_the_files_do_not_answer_is_answered_as_ever(client: OpenAI, asked: dict[str, Any]) -> None:
    store, *_ = fill(client)
    tools: Any = [{"type": "file_search", "vector_store_ids": [store]}]
    (said,) = client.responses.create(model=MODEL, tools=tools, **asked).output
    assert said.type == "message"
    assert "nine" not in str(said.content)


def test_a_named_tool_choice_searches_in_any_case(client: OpenAI) -> None:
    store, *_ = fill(client)
    tools: Any = [{"type": "file_search", "vector_store_ids": [store]}]
    choice: Any = {"type": "file_search"}
    answer = client.responses.create(model=MODEL, input="Tell me about chess", tools=tools, tool_choice=choice)
    assert [item.type for item in answer.output] == ["file_search_call", "message"]


def test_unknown_stores_and_files(client: OpenAI, strict_client: OpenAI) -> None:
    assert client.vector_stores.retrieve("vs_unknown").status == "completed"
    assert client.vector_stores.search("vs_unknown", query="a").data == []
    unknown = "Vector store with id 'vs_unknown' not found"
    with pytest.raises(openai.NotFoundError, match=unknown):
        strict_client.vector_stores.files.create("vs_unknown", file_id="file-unknown")
    tools: Any = [{"type": "file_search", "vector_store_ids": ["vs_unknown"]}]
    with pytest.raises(openai.NotFoundError, match=unknown):
        strict_client.responses.create(model=MODEL, input="find trains", tools=tools)
    store = strict_client.vector_stores.create().id
    with pytest.raises(openai.NotFoundError, match="No such File object: file-unknown"):
        strict_client.vector_stores.files.create(store, file_id="file-unknown")
    with pytest.raises(openai.NotFoundError, match=f"No file found with id 'file-x' in vector store '{store}'"):
        strict_client.vector_stores.files.retrieve("file-x", vector_store_id=store)
    batch = strict_client.vector_stores.file_batches.create(store, file_ids=["file-unknown"])
    assert strict_client.vector_stores.file_batches.retrieve(batch.id, vector_store_id=store).file_counts.failed == 1


def test_an_unknown_filter_is_refused(client: OpenAI) -> None:
    store = client.vector_stores.create().id
    client.vector_stores.files.upload_and_poll(vector_store_id=store, file=("a.txt", b"Trains to Oslo"))
    with pytest.raises(openai.BadRequestError, match="Invalid value: 'wat'"):
        client.vector_stores.search(store, query="x", filters={"type": "wat", "key": "a", "value": 1})  # type: ignore[arg-type, typeddict-item]


def test_pages_go_backwards_from_a_store(client: OpenAI, strict_client: OpenAI) -> None:
    made = [client.vector_stores.create(name=str(number)).id for number in range(5)]
    page = client.vector_stores.list(order="asc", before=made[3], limit=2)
    assert ([each.id for each in page.data], page.has_more) == (made[1:3], True)
    page = client.vector_stores.list(before=made[3], limit=2)
    assert ([each.id for each in page.data], page.has_more) == ([made[4]], False)
    page = client.vector_stores.list(order="asc", after=made[0], before=made[4], limit=2)
    assert ([each.id for each in page.data], page.has_more) == (made[1:3], True)
    assert client.vector_stores.list(before="vs_unknown").data == []
    with pytest.raises(openai.BadRequestError, match="Invalid 'before': there is no 'vs_unknown'"):
        strict_client.vector_stores.list(before="vs_unknown")
