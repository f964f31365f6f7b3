"""Vector stores, their files and file batches (https://platform.openai.com/docs/api-reference/vector-stores)."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.dialects._fields import (
    BodyModel,
    Object,
    integer,
    list_of,
    literal,
    nullable,
    number,
    optional,
    shape,
    tag_union,
    text_or,
)
from mockserver.dialects._openai_api.chat_bodies import Metadata
from mockserver.dialects._openai_api.objects.files import Files
from mockserver.dialects._openai_api.objects.resource import New, Resource, serve
from mockserver.dialects._openai_api.objects.search import (
    MAX_QUERIES,
    MAX_READ,
    Found,
    Source,
    rank_chunks,
    read_text,
    select_best,
)
from mockserver.dialects._parse import Body
from mockserver.kinds.kept import FILE_BATCHES, SEARCHED_FILE_STATUSES, VECTOR_STORE_FILES, VECTOR_STORES
from mockserver.kinds.objects import Objects
from mockserver.media.large_data import read_data

DAY = 86_400  # seconds
RANKERS = ("none", "auto", "default-2024-11-15")
_CHUNKS = {"type": "static", "static": {"max_chunk_size_tokens": 800, "chunk_overlap_tokens": 400}}
_BROKEN = {"code": "server_error", "message": "An internal error occurred."}
_UNKNOWN_FILE = {"code": "invalid_file", "message": "The file could not be found."}
_Expiry = shape(anchor=literal("last_active_at"), days=integer())
_Static = shape(max_chunk_size_tokens=integer(), chunk_overlap_tokens=integer())
_Chunking = tag_union("type", shape(type=literal("auto")), shape(type=literal("static"), static=_Static))
_NewFile = shape(file_id=str, attributes=optional(Object), chunking_strategy=optional(_Chunking))

_SEARCH = BodyModel(
    shape(
        query=text_or("<an array of strings>", list_of(str, most=MAX_QUERIES)),
        max_num_results=optional(integer()),
        rewrite_query=optional(bool),
        ranking_options=optional(shape(ranker=optional(literal(*RANKERS)), score_threshold=optional(number()))),
        filters=optional(Object),
    )
)


class VectorStores(Resource):
    kind = VECTOR_STORES
    path = "/vector_stores"
    type = "vector_store"
    deleted = "vector_store.deleted"
    ids = IdShape("vs_", 32, "hex")
    unknown = "Vector store with id '{id}' not found."
    fields = BodyModel(
        shape(
            name=optional(str),
            description=optional(str),
            file_ids=optional(list_of(str)),
            expires_after=optional(_Expiry),
            chunking_strategy=optional(_Chunking),
            metadata=optional(Metadata),
        )
    )
    updates = BodyModel(shape(name=optional(str), expires_after=optional(_Expiry), metadata=optional(Metadata)))

    async def make(self, new: New, objects: Objects) -> Body:
        files = VectorStoreFiles(self.api)
        shared = {key: value for key, value in new.fields.items() if key == "chunking_strategy"}
        for name in new.fields.get("file_ids") or ():
            await files.attach({"file_id": name, **shared}, new.id, objects=objects)
        return {
            "name": new.fields.get("name") or "",
            "description": new.fields.get("description"),
            "expires_after": new.fields.get("expires_after"),
            "last_active_at": new.created,
            "metadata": new.fields.get("metadata") or {},
        }

    async def view(self, kept: KeptObject, objects: Objects) -> Body:
        """Return a store with the sizes and statuses of its files."""
        body = kept.body
        files = await VectorStoreFiles(self.api).list_all(kept.id, objects)
        counts = count_files([file.status for file in files])
        expiry = body["expires_after"] or {}
        days = expiry.get("days")
        return {
            "id": kept.id,
            "object": self.type,
            "created_at": body["created_at"],
            "name": body["name"] or "",
            "description": body["description"],
            "usage_bytes": sum([file.body["usage_bytes"] for file in files if file.status == "completed"]),
            "file_counts": counts,
            "status": "in_progress" if counts["in_progress"] else "completed",
            "expires_after": {"anchor": "last_active_at", **expiry} if days is not None else None,
            "expires_at": body["last_active_at"] + days * DAY if days is not None else None,
            "last_active_at": body["last_active_at"],
            "metadata": body["metadata"],
        }

    async def advance(self, kept: KeptObject, objects: Objects) -> KeptObject:
        """Move the files of a store one status further; its own follows from theirs."""
        for file in await VectorStoreFiles(self.api).list_all(kept.id, objects):
            await VectorStoreFiles(self.api).advance(file, objects)
        return kept

    async def search(self, name: str, asked: Body, objects: Objects) -> Sequence[Found]:
        """Return what a search in a store finds, the best first. Raises Failure for an unknown store."""
        store = await self.find(objects, name)
        found = list[Found]()
        for each in await VectorStoreFiles(self.api).list_all(store.id, objects):
            if each.status == "completed":
                found += await rank_chunks(await VectorStoreFiles(self.api).read_source(each, objects), asked)
                await asyncio.sleep(0)  # let other requests run
        return select_best(found, asked)

    @serve("POST", "search", body=_SEARCH)
    async def search_vector_store(self, call: Call, objects: Objects) -> ObjectView:
        query = call.raw["query"]
        queries = [query] if isinstance(query, str) else query
        found = await self.search(call.http.path_params["id"], {**call.raw, "queries": queries}, objects)
        return ObjectView(
            {
                "object": "vector_store.search_results.page",
                "search_query": queries,
                "data": [each.show_in_page() for each in found],
                "has_more": False,
                "next_page": None,
            }
        )


class VectorStoreFiles(Resource):
    kind = VECTOR_STORE_FILES
    path = "/vector_stores/{owner}/files"
    type = "vector_store.file"
    deleted = "vector_store.file.deleted"
    ids = Files.ids
    unknown = "No file found with id '{id}' in vector store '{owner}'."
    fields = BodyModel(_NewFile)
    updates = BodyModel(shape(attributes=nullable(Object)))
    parent = VectorStores
    statuses = ("in_progress",)
    words: ClassVar[Mapping[str, Sequence[str]]] = {**Resource.words, "filter": SEARCHED_FILE_STATUSES}
    filters: ClassVar[Mapping[str, str]] = {"filter": "status"}

    async def create(self, new: New, objects: Objects, statuses: Sequence[str] = ()) -> KeptObject:
        """Attach a file. Raises Failure if there is no such file."""
        file = await Files(self.api).find(objects, new.fields["file_id"])
        return await super().create(replace(new, id=file.id), objects, statuses)

    async def attach(self, fields: Body, store: str, *, objects: Objects, statuses: Sequence[str] = ()) -> KeptObject:
        """Attach a file to a store, with these fields of a request; an unknown one is in it with the status failed."""
        try:
            return await self.create(New(fields=fields, owner=store), objects, statuses)
        except Failure:
            new = New(id=fields["file_id"], fields=fields, owner=store)
            made = await super().create(new, objects, ("failed",))
            failed = made.change(last_error=_UNKNOWN_FILE)
            await objects.keep(failed)
            return failed

    async def make(self, new: New, objects: Objects) -> Body:
        file = await objects.find(Files.kind.made_by, new.id)
        stated = new.fields.get("chunking_strategy") or {}
        return {
            "usage_bytes": len(file.data) if file is not None else 0,
            "vector_store_id": new.owner,
            "status": "completed",
            "last_error": None,
            "chunking_strategy": stated if stated.get("type") == "static" and "static" in stated else _CHUNKS,
            "attributes": new.fields.get("attributes") or {},
        }

    def show(self, kept: KeptObject) -> Body:
        broken = {"last_error": kept.body["last_error"] or _BROKEN} if kept.status == "failed" else {}
        return {**super().show(kept), **broken}

    async def _update(self, call: Call, objects: Objects) -> ObjectView:
        """Change the attributes, which null takes away."""
        changes = {key: value or {} for key, value in call.raw.items()}
        return await super()._update(replace(call, raw=changes), objects)

    async def read_source(self, kept: KeptObject, objects: Objects) -> Source:
        """Return a file of a store as searches read it."""
        file = await objects.find(Files.kind.made_by, kept.id)
        name = ""
        text = ""
        if file is not None and not file.gone:
            name = str(file.body["filename"])
            text = read_text(read_data(file.data, MAX_READ), name)
        return Source(
            file_id=kept.id,
            name=name,
            text=text,
            attributes=kept.body["attributes"],
            chunking=kept.body["chunking_strategy"],
        )

    @serve("GET", "content")
    async def vector_store_file_content(self, call: Call, objects: Objects) -> ObjectView:
        source = await self.read_source(await self.find_asked(call, objects), objects)
        data = [{"type": "text", "text": source.text}]
        page = {"object": "vector_store.file_content.page", "data": data, "has_more": False, "next_page": None}
        return ObjectView(page)


class FileBatches(Resource):
    kind = FILE_BATCHES
    path = "/vector_stores/{owner}/file_batches"
    type = "vector_store.files_batch"
    deleted = "vector_store.files_batch"
    ids = IdShape("vsfb_", 32, "hex")
    unknown = "No file batch found with id '{id}' in vector store '{owner}'."
    fields = BodyModel(
        shape(
            file_ids=optional(list_of(str)),
            files=optional(list_of(_NewFile)),
            attributes=optional(Object),
            chunking_strategy=optional(Object),
        )
    )
    parent = VectorStores
    statuses = ("in_progress",)

    async def create(self, new: New, objects: Objects, statuses: Sequence[str] = ()) -> KeptObject:
        """Attach all files, and keep which these were; they have the statuses of their batch."""
        files = VectorStoreFiles(self.api)
        common = {"attributes", "chunking_strategy"}
        shared = {key: value for key, value in new.fields.items() if key in common}
        listed = [{"file_id": name, **shared} for name in new.fields.get("file_ids") or ()]
        own = [{**shared, **each} for each in new.fields.get("files") or ()]
        made = [await files.attach(each, new.owner, objects=objects, statuses=statuses) for each in (*listed, *own)]
        kept = await super().create(new, objects, statuses)
        members = tuple([each.id for each in made])
        return (await objects.change(kept, lambda found: replace(found, members=members))).after

    async def make(self, new: New, objects: Objects) -> Body:
        return {"vector_store_id": new.owner, "status": "completed"}

    async def view(self, kept: KeptObject, objects: Objects) -> Body:
        files = await self.list_members(kept, objects)
        return {**self.show(kept), "file_counts": count_files([file.status for file in files])}

    async def advance(self, kept: KeptObject, objects: Objects) -> KeptObject:
        for file in await self.list_members(kept, objects):
            await VectorStoreFiles(self.api).advance(file, objects)
        return await super().advance(kept, objects)

    async def list_members(self, kept: KeptObject, objects: Objects) -> Sequence[KeptObject]:
        """Return the files of a batch that are still in the store, the oldest first."""
        wanted = frozenset(kept.members)
        return [file for file in await VectorStoreFiles(self.api).list_all(kept.owner, objects) if file.id in wanted]

    @serve("POST", "cancel")
    async def cancel_vector_store_file_batch(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        for file in await self.list_members(kept, objects):
            await objects.change(file, _cancel_file)
        now = (await objects.change(kept, _cancel_file)).after
        return ObjectView(await self.view(now, objects))

    @serve("GET", "files")
    async def vector_store_file_batch_files(self, call: Call, objects: Objects) -> ObjectView:
        members = await self.list_members(await self.find_asked(call, objects), objects)
        return ObjectView(await VectorStoreFiles(self.api).make_page(members, call.http.query, objects))


def count_files(statuses: Iterable[str]) -> dict[str, Json]:
    """Return the number of files by status and in total, as stores and batches show it."""
    counted = Counter(statuses)
    return {**{status: counted[status] for status in SEARCHED_FILE_STATUSES}, "total": counted.total()}


def _cancel_file(kept: KeptObject) -> KeptObject:
    return kept.end("cancelled") if kept.ahead else kept
