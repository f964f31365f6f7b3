"""Conversations and their items (https://platform.openai.com/docs/api-reference/conversations)."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.validation import Validation
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import BodyModel, nullable, shape
from mockserver.dialects._openai_api.chat_bodies import Metadata
from mockserver.dialects._openai_api.input_items import find_item_type
from mockserver.dialects._openai_api.objects.resource import New, Resource
from mockserver.dialects._openai_api.stored import complete_item, find_item_prefix
from mockserver.dialects._parse import Body, Complaint
from mockserver.kinds.kept import CONVERSATION_ITEMS, CONVERSATIONS
from mockserver.kinds.objects import Objects

MAX_ITEMS = 20  # of one request


class Conversations(Resource):
    kind = CONVERSATIONS
    path = "/conversations"
    type = "conversation"
    deleted = "conversation.deleted"
    ids = IdShape("conv_", 48, "hex")
    unknown = "Conversation with id '{id}' not found."
    updates = BodyModel(shape(metadata=nullable(Metadata)))

    def find_model(self) -> BodyModel:
        from mockserver.dialects._openai_api import (
            responses_bodies as models,  # slow: a hundred types, which chats do not need
        )

        return models.NEW_CONVERSATION

    def read(self, http: HttpRequest, validation: Validation) -> New:
        new = super().read(http, validation)
        _check_items(new, validation)
        return new

    async def make(self, new: New, objects: Objects) -> Body:
        await ConversationItems(self.api).append(new.fields.get("items") or (), new.id, objects)
        return {"metadata": new.fields.get("metadata") or {}}


class ConversationItems(Resource):
    kind = CONVERSATION_ITEMS
    path = "/conversations/{owner}/items"
    type = "conversation.item"
    deleted = "conversation.item.deleted"
    ids = IdShape("msg_", 48, "hex")
    unknown = "Item with id '{id}' not found in conversation '{owner}'."
    parent = Conversations

    def find_model(self) -> BodyModel:
        from mockserver.dialects._openai_api import (
            responses_bodies as models,  # slow: a hundred types, which chats do not need
        )

        return models.NEW_ITEMS

    def read(self, http: HttpRequest, validation: Validation) -> New:
        new = super().read(http, validation)
        _check_items(new, validation)
        return new

    async def append(self, items: Iterable[Body], conversation: str, objects: Objects) -> Sequence[KeptObject]:
        """Keep items as the last ones of a conversation; those without an id get one."""
        made = list[KeptObject]()
        for number, item in enumerate(items):
            stated = item.get("id")
            ids = IdShape(f"{find_item_prefix(find_item_type(item))}_", 48, "hex")
            name = stated if isinstance(stated, str) and stated else objects.draw_id(ids, f"item {number}")
            made.append(await self.create(New(id=name, fields=item, owner=conversation), objects))
        return made

    async def finish(self, new: New, objects: Objects) -> KeptObject:
        item = new.fields or {"role": "user", "content": "Hello!"}
        body = complete_item(item, new.id)
        made = await super().finish(replace(new, fields={}), objects)
        return replace(made, body=body)

    async def make(self, new: New, objects: Objects) -> Body:
        return {}

    def show(self, kept: KeptObject) -> Body:
        return kept.body

    async def _create(self, new: New, call: Call, objects: Objects) -> ObjectView:
        await self.find_parent(objects, new.owner)
        made = await self.append(new.fields.get("items") or (), new.owner, objects)
        return ObjectView(_list_items([kept.body for kept in made], more=False))

    async def _list(self, call: Call, objects: Objects) -> ObjectView:
        page = (await super()._list(call, objects)).body
        return ObjectView(_list_items(page["data"], more=page["has_more"]))

    async def _delete(self, call: Call, objects: Objects) -> ObjectView:
        await super()._delete(call, objects)
        conversations = Conversations(self.api)
        return ObjectView(conversations.show(await conversations.find(objects, call.http.path_params["owner"])))


def _list_items(items: Sequence[Body], *, more: bool) -> Body:
    """Return a list of items, whose ids are texts even if it is empty."""
    first, last = (items[0]["id"], items[-1]["id"]) if items else ("", "")
    return {"object": "list", "data": items, "first_id": first, "last_id": last, "has_more": more}


def _check_items(new: New, validation: Validation) -> None:
    items: Json = new.fields.get("items") or ()
    if validation is Validation.LIVE and len(items) > MAX_ITEMS:
        raise refuse(Complaint("long", ("items",), got=items, bound=MAX_ITEMS))
