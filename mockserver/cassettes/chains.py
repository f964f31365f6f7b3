"""Chains: recorded requests that repeat parts of earlier answers, such as the id of a batch or a turn of a chat.

Such a request can only be sent again with the parts of the new answer in their place. All of a chain has to be recorded
again, or none of it: a program that gets the new answer sends a request that the old rest does not have.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from mockserver.cassettes.cassette import SAID
from mockserver.cassettes.formats import parse_answer
from mockserver.cassettes.stream_events import parse_events
from mockserver.core.episode import Episode, Sent
from mockserver.core.json import Json, compact, try_parse

_SHORTEST_ID = 6  # characters; a shorter one may stand anywhere by chance
_IDS = frozenset(("id", "signature", "thoughtSignature", "encrypted_content", "uri"))
_ASKERS = frozenset(("user", "system", "developer"))  # their words repeat nothing
_ARGUMENTS = frozenset(("arguments", "input", "args"))
# Keys of texts of a conversation, in any dialect; other texts, such as roles and types, are words of the protocol.
_SAYING = _ARGUMENTS | {
    "content",
    "text",
    "reasoning",
    "reasoning_content",
    "thinking",
    "refusal",
    "tool_plan",
    "output",
}
_LISTS = frozenset(("models", "model"))  # operations whose ids are names that anybody may use


class AnswerParts(Struct, frozen=True):
    """The parts of an answer that later requests may repeat: ids and texts, by their places in it."""

    ids: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}

    @classmethod
    def read(cls, episode: Episode) -> "AnswerParts":
        """Return the parts of an episode's answer, without ids that its request names itself."""
        if episode.operation in _LISTS:
            return cls()
        reply = episode.reply
        frames = episode.reply.frames
        values = [_parse(reply.body)] if frames is None else [event.json for event in parse_events(frames)]
        known = _write_out(episode.request)
        ids = defaultdict[str, dict[str, None]](dict)
        for value in values:
            for key, id in _list_ids(value):
                if id not in known:
                    ids[key][id] = None
        places = {f"{key} {at}": id for key, found in ids.items() for at, id in enumerate(found)}
        return cls(places, dict(_list_texts(episode)))


def _parse(body: bytes) -> Json:
    return try_parse(body.decode("utf-8", "replace"))


def _write_out(sent: Sent) -> str:
    return f"{sent.path}?{sent.query} {sent.body.decode('utf-8', 'replace')}"


def _list_ids(value: Json) -> Iterator[tuple[str, str]]:
    """Yield the ids in a value, each with its key."""
    pending = [("", value)]
    while pending:
        key, inner = pending.pop()
        if isinstance(inner, Mapping):
            pending += reversed([*inner.items()])
        elif isinstance(inner, list):
            pending += [(key, item) for item in reversed(inner)]
        elif isinstance(inner, str) and len(inner) >= _SHORTEST_ID and _names_id(key, inner):
            yield key, inner


def _names_id(key: str, value: str) -> bool:
    return key in _IDS or key.endswith("_id") or (key == "name" and "/" in value)  # files/abc123


def _list_texts(episode: Episode) -> Iterator[tuple[str, str]]:
    for at, choice in enumerate(parse_answer(episode).choices):
        for kind in ("text", "reasoning", "refusal"):
            if text := choice.join_texts(kind):
                yield f"{at} {kind}", text
        for position, call in enumerate(choice.calls):
            yield f"{at} call {position} {call.name}", call.text


class _PlacedText(Struct, frozen=True):
    """A text of a conversation and its place, a table or list; the arguments of a tool, as a table, count as text."""

    text: str
    parent: Json
    step: str | int

    def put(self, text: str) -> None:
        """Replace it."""
        old = self.parent[self.step]
        self.parent[self.step] = text if isinstance(old, str) else try_parse(text, otherwise=old)


def _find_repeated_texts(body: Json) -> Iterator[_PlacedText]:
    """Yield the texts of the conversation in a body that do not come from the user."""
    table = body if isinstance(body, Mapping) else {}
    pending = [("", table[key]) for key in SAID if isinstance(table.get(key), list)]
    while pending:
        key, parent = pending.pop()
        for step, value in parent.items() if isinstance(parent, Mapping) else enumerate(parent):
            name = step if isinstance(step, str) else key  # the items of a list have its name
            if isinstance(value, str):
                if name in _SAYING:
                    yield _PlacedText(value, parent, step)
            elif isinstance(value, Mapping) and name in _ARGUMENTS:
                yield _PlacedText(compact(value), parent, step)
            elif isinstance(value, list) or (isinstance(value, Mapping) and value.get("role") not in _ASKERS):
                pending.append((name, value))


class RequestParts(Struct, frozen=True):
    """A request as it may repeat answers: the texts that do not come from the user, and all of it as one text."""

    texts: frozenset[str]
    written: str

    @classmethod
    def read(cls, sent: Sent) -> "RequestParts":
        """Return the parts of a request."""
        texts = frozenset(each.text for each in _find_repeated_texts(_parse(sent.body)))
        return cls(texts, _write_out(sent))

    def repeats(self, answer: AnswerParts) -> bool:
        """Return whether it repeats a part of an answer."""
        return not self.texts.isdisjoint(answer.texts.values()) or any(id in self.written for id in answer.ids.values())


class _RequestIndex:
    """Finds which of many requests repeat parts of an answer, without a search through each of them.

    An id can only be in a request that has all its words, such as `batch` and `777` of `batch_777`.
    """

    def __init__(self, requests: Sequence[RequestParts], answers: Sequence[AnswerParts]) -> None:
        self.requests = requests
        self.by_text = defaultdict[str, set[int]](set)
        self.by_word = defaultdict[str, set[int]](set)
        wanted = {word for answer in answers for id in answer.ids.values() for word in _WORD.findall(id)}
        for at, request in enumerate(requests):
            for text in request.texts:
                self.by_text[text].add(at)
            for word in wanted.intersection(_WORD.findall(request.written)):
                self.by_word[word].add(at)

    def find(self, answer: AnswerParts) -> set[int]:
        """Return the positions of the requests that repeat a part of an answer."""
        found = {at for text in answer.texts.values() for at in self.by_text.get(text, ())}
        for id in answer.ids.values():
            if places := sorted((self.by_word[word] for word in _WORD.findall(id)), key=len):
                found |= {at for at in set.intersection(*places) if id in self.requests[at].written}
        return found


_WORD = re.compile(r"\\[bfnrt]|[^\W_]+")  # in JSON, the n of \n before a word does not belong to it


def find_chains(episodes: Sequence[Episode]) -> tuple[tuple[int, ...], ...]:
    """Return the positions of the episodes of each chain; most are alone in theirs."""
    answers = [AnswerParts.read(episode) for episode in episodes]
    index = _RequestIndex([RequestParts.read(episode.request) for episode in episodes], answers)
    chain_of = [[at] for at in range(len(episodes))]
    for at, answer in enumerate(answers):
        for later in index.find(answer):
            if later > at and chain_of[later] is not chain_of[at]:
                gone, joined = sorted((chain_of[at], chain_of[later]), key=len)
                joined += gone
                for each in gone:
                    chain_of[each] = joined
    return tuple(sorted(tuple(sorted(chain)) for chain in {id(chain): chain for chain in chain_of}.values()))


class Renewal(Struct):
    """The parts of new answers by those of old ones, to be put into the requests that repeat these."""

    ids: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    lost: list[AnswerParts] = field(default_factory=list)  # parts without a counterpart

    def learn(self, old: Episode, new: Episode) -> None:
        """Note the parts of a new answer in place of those of an old one."""
        before = AnswerParts.read(old)
        after = AnswerParts.read(new)
        self.ids |= {id: after.ids[place] for place, id in before.ids.items() if place in after.ids}
        self.texts |= {text: after.texts[place] for place, text in before.texts.items() if place in after.texts}
        self.lost.append(
            AnswerParts(
                {place: id for place, id in before.ids.items() if place not in after.ids},
                {place: text for place, text in before.texts.items() if place not in after.texts},
            )
        )

    def apply(self, sent: Sent) -> Sent | None:
        """Return the request to send now; None if it repeats a part that no new answer has."""
        request = RequestParts.read(sent)
        if any(request.repeats(answer) for answer in self.lost):
            return None
        tree = _parse(sent.body)
        renewed = [each for each in _find_repeated_texts(tree) if self.texts.get(each.text, each.text) != each.text]
        for each in renewed:
            each.put(self.texts[each.text])
        body = compact(tree).encode() if renewed else sent.body
        path = sent.path
        query = sent.query
        for old, new in self.ids.items():
            path = path.replace(old, new)
            query = query.replace(old, new)
            body = body.replace(old.encode(), new.encode())
        return replace(sent, path=path, query=query, body=body)
