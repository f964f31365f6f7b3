"""Kept objects as OpenAI's API has them: created, listed in pages, retrieved, updated and deleted.

A `Resource` has all of this; what is special about a kind of objects is a class of its own beside this module.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, IdShape, Page
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import Model
from mockserver.dialects._parse import Body, Parse, read_body, read_object, refuse_first, unknown_fields
from mockserver.dialects._reply import RequestLines, json_reply
from mockserver.dialects._stored import list_body
from mockserver.kinds.objects import Objects

MAX_PAGE_SIZE = 10_000
POLL_AFTER = ("openai-poll-after-ms", "10")  # helpers of the clients wait so long between two look-ups, not a second
_OBJECT = ("owner", "id")  # parameters of paths: `/vector_stores/{owner}/files/{id}`


class ObjectsApi(Struct, frozen=True):
    """The dialect that has the objects: its name, the header lines of its replies, and how it words failures.

    `operations` are those that answer calls, such as the lines of a batch.
    """

    dialect: str
    lines: RequestLines
    fail: Callable[[HttpRequest, Failure, Call | None], Reply]
    operations: Sequence[Operation]


class New(Struct, frozen=True):
    """An object that is being made: of these fields of a request, and what came as a file."""

    id: str
    created: int
    fields: Mapping[str, Json]
    owner: str = ""
    data: bytes = b""
    file_name: str = ""
    http: HttpRequest = HttpRequest("POST", "/")  # the request
    validation: Validation = Validation.PUBLISHED  # of what else it brings, such as the lines of a batch


class Resource:
    """Objects of one kind. Subclasses state what is special, and `make` a body of a request's fields.

    `name` and `plural` name the operations, as `kinds/` has them. `path` is that of the list; objects that belong to
    another one have `{owner}` in it. `type` is what a body has in `object`, and `deleted` the same after a deletion.
    `unknown` is the message about an id that nobody made. `statuses` are those that an object has before its last one,
    one after each retrieval, unless a rule states others.
    """

    name: ClassVar[str]
    plural: ClassVar[str]
    path: ClassVar[str]
    type: ClassVar[str]
    deleted: ClassVar[str]
    ids: ClassVar[IdShape]
    unknown: ClassVar[str]
    fields: ClassVar[Model]
    updates: ClassVar[Model | None] = None
    statuses: ClassVar[Sequence[str]] = ()
    page_size: ClassVar[int] = 20

    def __init__(self, api: ObjectsApi) -> None:
        self.api = api

    # What subclasses give.

    async def make(self, new: New, objects: Objects) -> Body:
        """Return the body of a new object in its last status, without `id`, `object` and `created_at`.

        Raises Failure.
        """
        raise NotImplementedError

    def show(self, kept: KeptObject) -> Body:
        """Return the body of an object in its present status."""
        return {**kept.body, "status": kept.status} if kept.status else kept.body

    def read(self, http: HttpRequest, validation: Validation) -> New:
        """Return what a request makes an object of. Raises Failure."""
        body = read_object(http) if http.body.strip() else {}
        _, parsed = read_body(self.fields, body, refuse, validation)
        if validation is Validation.LIVE:
            refuse_first(unknown_fields(body, self.fields.fields), refuse)
        return New(id="", created=0, fields=parsed)

    def is_listed(self, kept: KeptObject, query: Mapping[str, str]) -> bool:
        """Return whether a list with this query has an object."""
        return True

    # The operations that all have.

    def operations(self) -> tuple[Operation, ...]:
        """Return the operations on objects of this kind."""
        one = f"{self.path}/{{id}}"
        return (
            Operation(f"create_{self.name}", "POST", self.path, self._parse_creation, self.render),
            Operation(self.plural, "GET", self.path, self.parse_as(self.plural, self._list), self.render),
            Operation(self.name, "GET", one, self.parse_as(self.name, self._retrieve), self.render),
            *(() if self.updates is None else [self._update_operation(one, self.updates)]),
            self.act(f"delete_{self.name}", "DELETE", one, self._delete),
        )

    def act(self, name: str, method: str, path: str, work: Callable[[Call, Objects], Any]) -> Operation:
        """Return an operation whose request has no body: `work(call, objects)` answers it with a ObjectView."""
        return Operation(name, method, path, self.parse_as(name, work), self.render)

    def act_on_body(self, name: str, path: str, model: Model, work: Callable[[Call, Objects], Any]) -> Operation:
        """Return an operation whose request has a JSON body of this model, which is then the call's `raw`."""

        def parse(http: HttpRequest, validation: Validation) -> Call:
            body = read_object(http) if http.body.strip() else {}
            return self.make_call(name, http, read_body(model, body, refuse, validation).parsed, work)

        return Operation(name, "POST", path, parse, self.render)

    def parse_as(self, operation: str, work: Callable[[Call, Objects], Any]) -> Parse:
        """Return the `parse` of an operation that has no body."""

        def parse(http: HttpRequest, validation: Validation) -> Call:
            return self.make_call(operation, http, {}, work)

        return parse

    def make_call(self, operation: str, http: HttpRequest, body: Body, work: Callable[[Call, Objects], Any]) -> Call:
        """Return the call of a request that `work` answers."""
        params = dict(http.path_params)
        call = Call(
            dialect=self.api.dialect,
            operation=operation,
            model="",
            http=http,
            meaning={**params, **body},
            raw=body,
            id="/".join([params[name] for name in _OBJECT if name in params]),
        )
        return replace(call, work=partial(work, call))

    def render(self, call: Call, outcome: ObjectView) -> Reply:
        """Return the reply: JSON, or the bytes of a file."""
        lines = self.api.lines(call.http, call)
        if outcome.data is None:
            return json_reply(200, outcome.body, lines, outcome.headers)
        sized = (("content-length", str(len(outcome.data))),)
        return Reply(200, (*HeaderLines(lines), *outcome.headers, *sized), outcome.data)

    def _parse_creation(self, http: HttpRequest, validation: Validation) -> Call:
        new = self.read(http, validation)
        new = replace(new, owner=http.path_params.get("owner", ""), http=http, validation=validation)
        body = {**new.fields, **({"file": digest_file(new)} if new.data or new.file_name else {})}
        return self.make_call(f"create_{self.name}", http, body, partial(self._create, new))

    def _update_operation(self, one: str, updates: Model) -> Operation:
        return self.act_on_body(f"update_{self.name}", one, updates, self._update)

    # What they do.

    async def _create(self, new: New, call: Call, objects: Objects) -> ObjectView:
        return ObjectView(self.show(await self.create(new, objects, objects.statuses)))

    async def create(self, new: New, objects: Objects, statuses: Sequence[str] = ()) -> KeptObject:
        """Make and keep an object, in the first of its statuses; a rule may state these."""
        made = await self.finish(replace(new, id=new.id or objects.draw_id(self.ids), created=objects.now), objects)
        if statuses:
            *ahead, last = statuses
            made = replace(made.change(status=last), ahead=tuple(ahead))
        else:
            made = replace(made, ahead=tuple(self.statuses))
        await objects.keep(made)
        return made

    async def finish(self, new: New, objects: Objects) -> KeptObject:
        """Return an object as `make` makes it, with what all objects have."""
        own = await self.make(new, objects)
        head: dict[str, Json] = {"id": new.id, "object": self.type, "created_at": new.created}
        return KeptObject(
            dialect=self.api.dialect,
            made_by=f"create_{self.name}",
            id=new.id,
            body={**head, **own},
            owner=new.owner,
            data=new.data,
        )

    async def find(self, objects: Objects, name: str, owner: str = "") -> KeptObject:
        """Return an object by its id; an unknown one is invented, in its final state, unless that is an error.

        Raises Failure if it was deleted, or if unknown ones are errors.
        """
        kept = await objects.find(f"create_{self.name}", name, owner)
        if kept is None and objects.invents:
            return await self.finish(New(id=name, created=objects.now, fields={}, owner=owner), objects)
        if kept is None or kept.gone:
            raise self.refuse_unknown(name, owner)
        return kept

    def refuse_unknown(self, name: str, owner: str) -> Failure:
        """Return the failure about an id that nobody made."""
        return Failure("not_found", message=self.unknown.format(id=name, owner=owner))

    async def find_asked(self, call: Call, objects: Objects) -> KeptObject:
        """Return the object that the path of a call names. Raises Failure."""
        params = call.http.path_params
        return await self.find(objects, params["id"], params.get("owner", ""))

    async def _retrieve(self, call: Call, objects: Objects) -> ObjectView:
        """Show an object, which is then one status further."""
        kept = await self.find_asked(call, objects)
        if kept.ahead:
            _, kept = await objects.change(kept, lambda found: replace(found, ahead=found.ahead[1:]))
        return ObjectView(self.show(kept), headers=(POLL_AFTER,) if kept.ahead else ())

    async def _list(self, call: Call, objects: Objects) -> ObjectView:
        """List objects, the newest first unless the query asks otherwise."""
        query = call.http.query
        owner = call.http.path_params.get("owner", "")
        kept = [each for each in await objects.list(f"create_{self.name}", owner) if self.is_listed(each, query)]
        return ObjectView(self.make_page(map(self.show, kept), query))

    def make_page(self, bodies: Iterable[Body], query: Mapping[str, str]) -> Body:
        """Return the page of a list that a query asks for."""
        page = read_page(query, usual=self.page_size)
        shown, more = page.of(tuple(bodies), lambda body: body["id"])
        return list_body(shown, more=more)

    async def _update(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        _, now = await objects.change(kept, lambda found: found.change(**call.raw))
        return ObjectView(self.show(now))

    async def _delete(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        await objects.change(kept, lambda found: replace(found, gone=True, data=b"", body={"id": found.id}))
        return ObjectView({"id": kept.id, "object": self.deleted, "deleted": True})


def read_page(query: Mapping[str, str], *, usual: int) -> Page:
    """Return the page that a query asks for; what makes no sense in it is left out."""
    stated = query.get("limit", "")
    limit = min(int(stated), MAX_PAGE_SIZE) if stated.isdecimal() and len(stated) < 9 else usual
    return Page(query.get("after"), limit or usual, backwards=query.get("order", "desc") != "asc")


def digest_file(new: New) -> Body:
    """Return what tells one uploaded file from another."""
    from hashlib import sha256

    return {"filename": new.file_name, "sha256": sha256(new.data).hexdigest()}
