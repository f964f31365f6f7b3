"""What a chat or a response refers to: the conversation before it, files in its prompt, stores and containers of tools.

Sources: https://platform.openai.com/docs/guides/conversation-state, /tools-file-search and /tools-code-interpreter.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, PlainMessages, Tool
from mockserver.core.hosted_tools import make_item
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Failure, Item, Part, Text
from mockserver.dialects._openai_api.input_items import find_item_type
from mockserver.dialects._openai_api.objects.containers import Containers
from mockserver.dialects._openai_api.objects.conversations import ConversationItems
from mockserver.dialects._openai_api.objects.files import Files, list_file_ids
from mockserver.dialects._openai_api.objects.resource import New, ObjectsApi
from mockserver.dialects._openai_api.objects.search import Found, find_sentence
from mockserver.dialects._openai_api.objects.vector_stores import VectorStores
from mockserver.dialects._openai_api.responses import RESPONSE_LAYOUT, make_response_options, read_input
from mockserver.dialects._parse import Body
from mockserver.kinds.objects import Beginning, Objects
from mockserver.wire.responses import list_output_items

_LOCKED = "Another process is currently operating on this conversation. Please retry in a few seconds."
_FILE_SEARCH = "file_search"
_FILE_SEARCH_CALL = "file_search_call"
_CODE_INTERPRETER = "code_interpreter"
_CODE_CALL = "code_interpreter_call"
_OBJECT_TOOLS = (_FILE_SEARCH, _CODE_INTERPRETER)  # tools that work on kept objects
_LONGEST_QUERY = 200  # characters
# Shares of the words of a question that a part of a file must have to be quoted: by a search, and where none is made.
_LEAST_SHARE = 0.01
_LIKELY_SHARE = 0.3
_RESPONSES = "responses"  # the operation that may go on with a conversation
_read_parts = attrgetter("parts")


class KeptReferences(Struct, frozen=True):
    """The `References` of a call: the ids that its body names."""

    api: ObjectsApi
    conversation: str | None = None
    files: Sequence[str] = ()
    searches: Sequence[Tool] = ()
    interpreters: Sequence[Tool] = ()

    async def read(self, call: Call, objects: Objects) -> Beginning:
        """Return the messages of the conversation. Raises Failure if something does not exist."""
        containers = [tool.options.get("container") for tool in self.interpreters]
        shared = [name for each in containers if isinstance(each, dict) for name in each.get("file_ids") or ()]
        for name in (*self.files, *shared):
            await Files(self.api).find(objects, name)
        for name in [name for tool in self.searches for name in list_store_ids(tool)]:
            await VectorStores(self.api).find(objects, name)
        for name in [each for each in containers if isinstance(each, str) and each]:
            await Containers(self.api).find(objects, name)
        if self.conversation is None:
            return Beginning()
        items = ConversationItems(self.api)
        await items.find_parent(objects, self.conversation)
        if not objects.hold(f"conversation {self.conversation}"):
            raise Failure("bad_parameter", message=_LOCKED, param="conversation", code="conversation_locked")
        return Beginning(read_input([kept.body for kept in await items.list_all(self.conversation, objects)]))

    async def write(self, call: Call, answer: Answer, objects: Objects, *, is_generated: bool) -> Answer:
        """Return the answer with what its searches find; add the input and the output to the conversation."""
        if self.searches and answer.choices and is_generated:
            answer = await self._quote_files(call, answer, objects)
        if self.searches and answer.choices:
            first, *others = answer.choices
            parts = await self._search(first.parts, objects)
            if parts is not first.parts:
                answer = replace(answer, choices=(replace(first, parts=parts), *others))
        for part in answer.choices[0].parts if self.interpreters and answer.choices else ():
            if type(part) is Item and part.kind == _CODE_CALL:
                await self._keep_container(str(part.body.get("container_id")), objects)
        if self.conversation is not None and answer.broken is None:
            await self._append(self.conversation, call=call, answer=answer, objects=objects)
        return answer

    async def _keep_container(self, name: str, objects: Objects) -> None:
        """Keep the container in which code was run, with the files that the request puts there, if it is a new one."""
        if await objects.find(Containers.kind.made_by, name) is not None:
            return
        containers = [tool.options.get("container") for tool in self.interpreters]
        stated: Body = next((each for each in containers if isinstance(each, dict)), {})
        fields = {key: value for key, value in stated.items() if key in Containers.fields.fields}
        await Containers(self.api).create(New(id=name, fields={**fields, "name": "auto"}), objects)

    async def _append(self, conversation: str, *, call: Call, answer: Answer, objects: Objects) -> None:
        """Add the items of a call and its answer to a conversation, unless nobody made it."""
        items = ConversationItems(self.api)
        if not await items.is_parent_kept(conversation, objects):
            return
        given: Json = call.raw.get("input") or ()
        sent = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
        output = list_output_items(answer, RESPONSE_LAYOUT, make_response_options(call, RESPONSE_LAYOUT))
        new = [item for item in sent if find_item_type(item) != "item_reference"]
        await items.append([*new, *[item.body for item in output]], conversation, objects)

    async def _quote_files(self, call: Call, answer: Answer, objects: Objects) -> Answer:
        """Return a generated answer with a sentence of the files and its source, if one fits the user's question."""
        first, *others = answer.choices
        texts = [part for part in first.parts if type(part) is Text]
        rest = [part for part in first.parts if type(part) is not Text]
        has_searched = any(type(part) is Item and part.kind == _FILE_SEARCH_CALL for part in rest)
        is_free = call.tool_choice.mode == "auto" or has_searched
        if len(texts) != 1 or texts[0].is_json or first.finish != "stop" or first.logprobs is not None or not is_free:
            return answer
        query = " ".join(call.last_user.split())[:_LONGEST_QUERY]
        found = await self._find({"queries": [query]}, objects)
        if not found or found[0].score < (_LEAST_SHARE if has_searched else _LIKELY_SHARE):
            return answer
        sentence = find_sentence(found[0].text, query)
        most = call.options.max_tokens
        count = answer.tokenizer.count(sentence)
        if most is not None and count > most:
            return answer
        results: Json = [each.show_in_item() for each in found]
        search = make_item(_FILE_SEARCH_CALL, {"query": query, "results": results})
        text = Text(sentence, annotations=tuple(cite_files(found[:1], sentence)))
        kept = [part for part in rest if type(part) is not Item or part.kind != _FILE_SEARCH_CALL]
        usage = replace(answer.usage, completion=answer.usage.reasoning + count)
        return replace(
            answer,
            choices=(replace(first, parts=(*kept, search, text)), *others),
            usage=usage,
            written=usage.completion,
        )

    async def _search(self, parts: Sequence[Part], objects: Objects) -> tuple[Part, ...]:
        """Return the parts of an answer, with results for its searches without any, which the next text cites."""
        made = list[Part]()
        cited = list[Found]()
        for part in parts:
            if type(part) is Item and part.kind == _FILE_SEARCH_CALL and part.body.get("results") is None:
                found = await self._find(part.body, objects)
                cited += [each for each in found if each.score]
                made.append(replace(part, body={**part.body, "results": [each.show_in_item() for each in found]}))
            elif type(part) is Text and cited and not part.annotations:
                made.append(replace(part, annotations=tuple(cite_files(cited, part.text))))
                cited = []
            else:
                made.append(part)
        return tuple(made)

    async def _find(self, searched: Body, objects: Objects) -> Sequence[Found]:
        """Return what a search finds in all stores that the call names."""
        queries = [query for query in searched.get("queries") or () if isinstance(query, str)]
        found = list[Found]()
        for tool in self.searches:
            asked = {**tool.options, "queries": queries}
            for name in list_store_ids(tool):
                found += await VectorStores(self.api).search(name, asked, objects)
        return sorted(found, key=lambda each: -each.score)


def refer_to_kept(call: Call, api: ObjectsApi) -> Call:
    """Return the call with its `References`, if its body names objects."""
    is_response = call.operation == _RESPONSES
    if type(call.messages) is PlainMessages and not is_response:
        return call
    tools = tuple([tool for tool in call.tools if tool.kind in _OBJECT_TOOLS]) if is_response else ()
    has_parts = any(map(_read_parts, call.messages))
    conversation: Json = call.raw.get("conversation") if is_response else None
    if not (conversation or has_parts or tools):  # most calls refer to nothing
        return call
    if isinstance(conversation, Mapping):
        conversation = conversation.get("id")
    references = KeptReferences(
        api=api,
        conversation=conversation if isinstance(conversation, str) else None,
        files=tuple(list_file_ids(call)) if has_parts else (),
        searches=tuple([tool for tool in tools if tool.kind == _FILE_SEARCH]),
        interpreters=tuple([tool for tool in tools if tool.kind == _CODE_INTERPRETER]),
    )
    if references == KeptReferences(api=api):
        return call
    return replace(call, references=references)


def list_store_ids(tool: Tool) -> list[str]:
    """Return the vector stores that a tool searches."""
    named = tool.options.get("vector_store_ids")
    return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []


def cite_files(found: Sequence[Found], text: str) -> Iterator[Body]:
    """Yield citations of the files with these chunks, at the end of a text."""
    for name, source in {each.source.file_id: each.source for each in found}.items():
        yield {"type": "file_citation", "index": len(text), "file_id": name, "filename": source.name}
