"""Kept objects as OpenAI's API has them: created, listed in pages, retrieved, updated and deleted.

A `Resource` has all of this; what is special about a kind of objects is a class of its own beside this module.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, IdShape, Page
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.kept_objects import Data, KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import BodyModel, shape
from mockserver.dialects._openai_api.stored import ORDERS, make_list_body
from mockserver.dialects._parse import (
    Body,
    Complaint,
    Parse,
    Refuse,
    clip,
    read_body,
    read_object,
)
from mockserver.dialects._reply import RequestLines, make_file_reply, make_json_reply
from mockserver.kinds.objects import ObjectChange, ObjectKind, Objects, Work
from mockserver.media.large_data import hash_data

MAX_PAGE_SIZE = 10_000
POLL_AFTER = ("openai-poll-after-ms", "10")  # helpers of the clients wait so long between two look-ups, not a second
_ID = re.compile(r"[A-Za-z0-9_:.-]+")


class ObjectsApi(Struct, frozen=True):
    """The dialect that has the objects: its name, the header lines of its replies, and how it words failures.

    `operations` are those that answer calls, such as the lines of a batch. `refuse` words mistakes in requests.
    """

    dialect: str
    lines: RequestLines
    fail: Callable[[HttpRequest, Failure, Call | None], Reply]
    operations: Sequence[Operation] = ()
    refuse: Refuse = refuse


class New(Struct, frozen=True):
    """An object that is being made: of these fields of a request, and what came as a file."""

    id: str = ""
    created: int = 0
    fields: Mapping[str, Json] = {}
    owner: str = ""
    data: Data = b""
    file_name: str = ""
    http: HttpRequest = HttpRequest("POST", "/")  # the request
    validation: Validation = Validation.PUBLISHED  # of what else it brings, such as the lines of a batch
    invented: bool = False  # nobody makes it: it is a function of its id


class Served(Struct, frozen=True):
    """A method that answers the operation of its name, at these paths; its requests have a body if there is a model."""

    work: Callable[[Any, Call, Objects], Awaitable[ObjectView]]
    method: str
    paths: tuple[str, ...]
    body: BodyModel | None


def serve(
    method: str, *paths: str, body: BodyModel | None = None
) -> Callable[[Callable[[Any, Call, Objects], Awaitable[ObjectView]]], Served]:
    """Have a method answer the operation that is called like it.

    Paths are below that of one object, or whole if they begin with a slash. What the model of the `body` has is then
    the call's `raw`.
    """
    return partial(Served, method=method, paths=paths, body=body)


class Resource:
    """Objects of one kind. Subclasses state what is special, `make` a body of a request's fields, and `serve` more.

    The kind names the operations, and tells which of the usual ones there are; the dialect may lack some (`lacks`).
    `path` is that of the list, with the id of the `parent`, if objects belong to another one. `type` is the `object` of
    a body, and `deleted` that of the answer to a deletion. `unknown` is the message about an id that nobody made.
    `statuses` are those that an object has before its last one, one after each retrieval, unless a rule states others;
    `events` are what webhooks tell of an object with such a last one. `words` are the values that parameters of the
    list can have, and `filters` the fields that its parameters select by. `poll_headers` tell when to look again.
    """

    kind: ClassVar[ObjectKind]
    lacks: ClassVar[Sequence[str]] = ()
    path: ClassVar[str]
    type: ClassVar[str]
    deleted: ClassVar[str]
    ids: ClassVar[IdShape]
    unknown: ClassVar[str]
    fields: ClassVar[BodyModel] = BodyModel(shape())
    parent: "ClassVar[ResourceClass | None]" = None
    updates: ClassVar[BodyModel | None] = None
    statuses: ClassVar[Sequence[str]] = ()
    events: ClassVar[Mapping[str, str]] = MappingProxyType({})
    page_size: ClassVar[int] = 20
    largest_page: ClassVar[int] = 100
    words: ClassVar[Mapping[str, Sequence[str]]] = {"order": ORDERS}
    filters: ClassVar[Mapping[str, str]] = MappingProxyType({})
    poll_headers: ClassVar[Headers] = (POLL_AFTER,)

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

    async def view(self, kept: KeptObject, objects: Objects) -> Body:
        """Return the body of an object like `show`, with the fields that follow from other objects."""
        return self.show(kept)

    async def advance(self, kept: KeptObject, objects: Objects) -> KeptObject:
        """Return an object that was retrieved, one status further."""
        return (await objects.change(kept, KeptObject.advance)).after

    def show_deleted(self, kept: KeptObject) -> Body:
        """Return the body of the answer to a deletion."""
        return {"id": kept.id, "object": self.deleted, "deleted": True}

    def read(self, http: HttpRequest, validation: Validation) -> New:
        """Return the object that a request makes, with its fields or file. Raises Failure."""
        return New(fields=self._read_fields(self.find_model(), http, validation))

    def find_model(self) -> BodyModel:
        """Return the model of the body that makes an object."""
        return self.fields

    def is_listed(self, kept: KeptObject, query: Mapping[str, str]) -> bool:
        """Return whether a list with this query has an object."""
        shown = self.show(kept)
        return all(query.get(name) in (None, shown[field]) for name, field in self.filters.items())

    # The operations that all have.

    def make_operations(self) -> tuple[Operation, ...]:
        """Return the operations on objects of this kind."""
        kind = self.kind
        one = f"{self.path}/{{id}}"
        usual = [Operation(kind.made_by, "POST", self.path, parse=self._parse_creation, render=self.render)]
        if kind.listed_by is not None:
            usual.append(Operation(kind.listed_by, "GET", self.path, parse=self._parse_list, render=self.render))
        for name, method, work, body in (
            (kind.name, "GET", self._retrieve, None),
            (f"update_{kind.name}", "POST", self._update, self.updates),
            (f"delete_{kind.name}", "DELETE", self._delete, None),
        ):
            if name in kind.acts and name not in self.lacks:
                usual.append(Operation(name, method, one, parse=self._parse_as(name, work, body), render=self.render))
        return (*usual, *self.list_served())

    def list_served(self) -> tuple[Operation, ...]:
        """Return the operations that methods serve, those of base classes among them."""
        one = f"{self.path}/{{id}}"
        methods = {name: method for owner in reversed(type(self).__mro__) for name, method in vars(owner).items()}
        return tuple(
            [
                Operation(
                    name,
                    served.method,
                    path if path.startswith("/") else f"{one}/{path}".rstrip("/"),
                    parse=self._parse_as(name, partial(served.work, self), served.body),
                    render=self.render,
                )
                for name, served in methods.items()
                if isinstance(served, Served)
                for path in served.paths
            ]
        )

    def _parse_as(self, operation: str, work: Work, model: BodyModel | None = None) -> Parse:
        """Return the `parse` of an operation, whose requests have a JSON body if there is a model of it."""

        def parse(http: HttpRequest, validation: Validation) -> Call:
            self.check_url(http, validation)
            body = {} if model is None else self._read_fields(model, http, validation)
            return self.make_call(operation, http, body=body, work=work)

        return parse

    def make_call(self, operation: str, http: HttpRequest, *, body: Body, work: Work) -> Call:
        """Return the call of a request that `work` answers."""
        params = read_ids(http)
        return Call(
            dialect=self.api.dialect,
            operation=operation,
            model="",
            http=http,
            meaning={**params, **body},
            raw=body,
            id="/".join([*filter(None, [find_owner(http)]), *([params["id"]] if "id" in params else ())]),
            work=work,
        )

    def check_query(self, http: HttpRequest, validation: Validation) -> None:
        """Raise Failure for a list that the published API does not have, or a page larger than the live API's."""
        for name, words in () if validation is Validation.OFF else self.words.items():
            stated = http.query.get(name)
            if stated is not None and stated not in words:
                raise self.api.refuse(Complaint("value", (name,), got=stated, expected=tuple(words)))
        limit = http.query.get("limit", "")
        if validation is Validation.LIVE and limit.isdecimal() and int(limit[:9]) > self.largest_page:
            raise self.api.refuse(Complaint("above", ("limit",), got=int(limit[:9]), bound=self.largest_page))

    def check_url(self, http: HttpRequest, validation: Validation) -> None:
        """Raise Failure for a path that the live API does not accept: for characters that no id has."""
        for name, value in read_ids(http).items() if validation is Validation.LIVE else ():
            if not _ID.fullmatch(value):
                message = (
                    f"Invalid '{name}': '{clip(value)}'. Expected an ID that contains letters, numbers, underscores, "
                    "or dashes, but this value contained additional characters."
                )
                raise Failure("bad_parameter", message=message, param=name, code="invalid_value")

    def _read_fields(self, model: BodyModel, http: HttpRequest, validation: Validation) -> Body:
        """Return the fields of a JSON body; an empty body has none. Raises Failure."""
        body = read_object(http) if http.body.strip() else {}
        parsed: Body = read_body(model, body, refuse=self.api.refuse, validation=validation, is_closed=True).parsed
        return parsed

    def render(self, call: Call, outcome: ObjectView) -> Reply:
        """Return the reply: JSON, or the bytes of a file."""
        lines = self.api.lines(call.http, call)
        if outcome.data is None:
            return make_json_reply(outcome.status, outcome.body, lines=lines, headers=outcome.headers)
        return replace(make_file_reply(outcome.data, lines, outcome.headers), status=outcome.status)

    def _parse_creation(self, http: HttpRequest, validation: Validation) -> Call:
        self.check_url(http, validation)
        new = self.read(http, validation)
        new = replace(new, owner=find_owner(http), http=http, validation=validation)
        body = {**new.fields, **({"file": digest_file(new)} if new.data or new.file_name else {})}
        return self.make_call(self.kind.made_by, http, body=body, work=partial(self._create, new))

    def _parse_list(self, http: HttpRequest, validation: Validation) -> Call:
        self.check_url(http, validation)
        self.check_query(http, validation)
        return self.make_call(self.kind.listed_by or "", http, body={}, work=self._list)

    # What they do.

    async def _create(self, new: New, call: Call, objects: Objects) -> ObjectView:
        await self.find_parent(objects, new.owner)
        return ObjectView(await self.view(await self.create(new, objects, objects.statuses), objects))

    async def create(self, new: New, objects: Objects, statuses: Sequence[str] = ()) -> KeptObject:
        """Make and keep an object, in the first of its statuses; a rule may state these."""
        made = await self.finish(replace(new, id=new.id or objects.draw_id(self.ids), created=objects.now), objects)
        made = made.begin(statuses) if statuses else replace(made, ahead=tuple(self.statuses))
        if made.ahead and objects.announces and (event := self.events.get(str(made.body.get("status")))):
            await objects.keep(replace(made, ahead=()))
            objects.announce(event, made.id)
        else:
            await objects.keep(made)
        return made

    async def finish(self, new: New, objects: Objects) -> KeptObject:
        """Return an object as `make` makes it, with what all objects have."""
        own = await self.make(new, objects)
        head: dict[str, Json] = {"id": new.id, "object": self.type, "created_at": new.created}
        return KeptObject(
            dialect=self.api.dialect,
            made_by=self.kind.made_by,
            id=new.id,
            body={**head, **own},
            owner=new.owner,
            data=new.data,
        )

    async def find(self, objects: Objects, name: str, owner: str = "") -> KeptObject:
        """Return an object by its id; an unknown one is invented, in its final state, unless that is an error.

        Raises Failure if it was deleted, or if unknown ones are errors.
        """
        await self.find_parent(objects, owner)
        kept = await objects.find(self.kind.made_by, name, owner)
        if kept is None and objects.invents:
            new = New(id=name, created=objects.now, owner=owner, invented=True)
            return objects.invent(await self.finish(new, objects))
        if kept is None or kept.gone:
            raise self.refuse_unknown(name, owner)
        return kept

    async def find_parent(self, objects: Objects, owner: str) -> None:
        """Raise Failure if what objects belong to does not exist; `owner` is its id, after those of its own parents."""
        if self.parent is not None:
            above, _, name = owner.rpartition("/")
            await self.parent(self.api).find(objects, name, above)

    async def is_parent_kept(self, owner: str, objects: Objects) -> bool:
        """Return whether somebody made what objects belong to."""
        above, _, name = owner.rpartition("/")
        found = None if self.parent is None else await objects.find(self.parent.kind.made_by, name, above)
        return found is not None and not found.gone

    async def list_all(self, owner: str, objects: Objects) -> Sequence[KeptObject]:
        """Return all objects that belong to another one, the oldest first."""
        return await objects.list(self.kind.made_by, owner)

    def refuse_unknown(self, name: str, owner: str) -> Failure:
        """Return the failure about an id that nobody made."""
        return Failure("not_found", message=self.unknown.format(id=clip(name), owner=clip(owner)))

    async def find_asked(self, call: Call, objects: Objects) -> KeptObject:
        """Return the object that the path of a call names. Raises Failure."""
        return await self.find(objects, call.http.path_params["id"], find_owner(call.http))

    async def _retrieve(self, call: Call, objects: Objects) -> ObjectView:
        """Show an object, which is then one status further."""
        kept = await self.advance(await self.find_asked(call, objects), objects)
        return ObjectView(await self.view(kept, objects), headers=self.poll_headers if kept.ahead else ())

    async def _list(self, call: Call, objects: Objects) -> ObjectView:
        """List objects, the newest first unless the query asks otherwise."""
        query = call.http.query
        owner = find_owner(call.http)
        await self.find_parent(objects, owner)
        return ObjectView(await self.make_page(await self.list_all(owner, objects), query, objects))

    async def make_page(self, kept: Sequence[KeptObject], query: Mapping[str, str], objects: Objects) -> Body:
        """Return the page of a list that a query asks for. Raises Failure."""
        listed = [each for each in kept if self.is_listed(each, query)]
        entries, more = turn_to_page(
            listed, query, objects=objects, find_id=lambda each: each.body["id"], usual=self.page_size
        )
        return make_list_body([await self.view(each, objects) for each in entries], more=more)

    async def _update(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        now = (await objects.change(kept, lambda found: found.change(**call.raw))).after
        return ObjectView(await self.view(now, objects))

    async def end_early(self, kept: KeptObject, last: str, objects: Objects) -> ObjectChange:
        """Give an object its last status, unless it has ended."""

        def end(found: KeptObject) -> KeptObject:
            return found if found.status in self.events else found.end(last)

        change = await objects.change(kept, end)
        if change.after is not change.before and objects.announces:
            objects.announce(self.events[last], kept.id)
        return change

    async def _delete(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        await objects.change(kept, KeptObject.forget)
        return ObjectView(self.show_deleted(kept))


ResourceClass = type[Resource]


def find_owner(http: HttpRequest) -> str:
    """Return the ids of the objects to which those at a path belong, the outermost first: `eval_1/evalrun_2`."""
    return "/".join([value for _, value in takewhile(lambda each: each[0] != "id", read_ids(http).items())])


def read_ids(http: HttpRequest) -> Mapping[str, str]:
    """Return the ids in a path by their names, without the name of a namespace, which may stand before them."""
    return {name: value for name, value in http.path_params.items() if name != "namespace"}


Entry = TypeVar("Entry")


def turn_to_page(
    entries: Sequence[Entry],
    query: Mapping[str, str],
    *,
    objects: Objects,
    find_id: Callable[[Entry], str],
    usual: int,
) -> tuple[Sequence[Entry], bool]:
    """Return the entries of the page that a query asks for (`usual` many if it does not say), and whether more follow.

    Raises Failure for an unknown cursor, unless unknown ids are taken for known ones.
    """
    page = read_page(query, usual=usual)
    for which, cursor in (("after", page.after), ("before", page.before)):
        if cursor is not None and not objects.invents and cursor not in map(find_id, entries):
            raise Failure("bad_parameter", message=f"Invalid '{which}': there is no '{clip(cursor)}'.", param=which)
    return page.select(entries, find_id)


def show_page(bodies: Sequence[Body], call: Call, objects: Objects, *, usual: int) -> ObjectView:
    """Return the page that a call asks for of bodies that are not kept. Raises Failure."""
    page, more = turn_to_page(bodies, call.http.query, objects=objects, find_id=lambda body: body["id"], usual=usual)
    return ObjectView(make_list_body(page, more=more))


def read_page(query: Mapping[str, str], *, usual: int) -> Page:
    """Return the page that a query asks for; values in it that make no sense are ignored."""
    stated = query.get("limit", "")
    limit = min(int(stated), MAX_PAGE_SIZE) if stated.isdecimal() and len(stated) < 9 else usual
    backwards = not query.get("order", "desc").startswith("asc")
    return Page(after=query.get("after"), limit=limit or usual, backwards=backwards, before=query.get("before"))


def digest_file(new: New) -> Body:
    """Return the name and the hash of an uploaded file, which tell it from others."""
    return {"filename": new.file_name, "sha256": hash_data(new.data)}
