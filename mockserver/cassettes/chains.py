"""Chains: recorded requests that repeat what earlier answers said, such as the id of a batch or a turn of a chat.

Such a request can only be sent again with what the new answer says in its place, and all of a chain has to be recorded
again, or none of it: a program that gets the new answer sends a request that the rest would not know.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from mockserver.cassettes.cassette import SAID
from mockserver.cassettes.parse_response import parse_events, parse_response
from mockserver.core.episode import Episode, Sent
from mockserver.core.json import Json, compact, try_parse

_SHORTEST_ID = 6  # characters; a shorter one may stand anywhere by chance
_IDS = frozenset(("id", "signature", "thoughtSignature", "encrypted_content", "uri"))
_ASKERS = frozenset(("user", "system", "developer"))  # whose words are no repetition
_ARGUMENTS = frozenset(("arguments", "input", "args"))
_LISTS = frozenset(("models", "model"))  # operations whose ids are names that anybody may use


class AnswerParts(Struct, frozen=True):
    """What of an answer later requests may repeat: ids and texts, by their places in it."""

    ids: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}

    @classmethod
    def of(cls, episode: Episode) -> "AnswerParts":
        """Read it from an answer, without what its request names itself."""
        if episode.operation in _LISTS:
            return cls()
        reply, frames = episode.reply, episode.reply.frames
        values = [_parse(reply.body)] if frames is None else [event.json for event in parse_events(frames)]
        known, ids = RequestParts.of(episode.request).written, defaultdict[str, dict[str, None]](dict)
        for value in values:
            for key, id in _list_ids(value):
                if id not in known:
                    ids[key][id] = None
        places = {f"{key} {at}": id for key, found in ids.items() for at, id in enumerate(found)}
        return cls(places, dict(_list_texts(episode)))


def _parse(body: bytes) -> Json:
    return try_parse(body.decode("utf-8", "replace"))


def _list_ids(value: Json, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the ids in a value, each with its key."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _list_ids(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _list_ids(inner, key)
    elif isinstance(value, str) and len(value) >= _SHORTEST_ID and _names_id(key, value):
        yield key, value


def _names_id(key: str, value: str) -> bool:
    return key in _IDS or key.endswith("_id") or (key == "name" and "/" in value)  # files/abc123


def _list_texts(episode: Episode) -> Iterator[tuple[str, str]]:
    for at, choice in enumerate(parse_response(episode.reply, episode.format).choices):
        for kind in ("text", "reasoning", "refusal"):
            if text := choice.join_texts(kind):
                yield f"{at} {kind}", text
        for position, call in enumerate(choice.calls):
            yield f"{at} call {position} {call.name}", call.text


def _map_history(body: Json, change: Callable[[str], str]) -> Json:
    """Return a body with those texts of its conversation changed that do not come from the user."""
    if not isinstance(body, Mapping):
        return body
    history = {key: _map_said(body[key], change) for key in SAID if isinstance(body.get(key), list)}
    return {**body, **history}


def _map_said(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, Mapping):
        if value.get("role") in _ASKERS:
            return value
        return {key: _map_arguments(key, inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [_map_said(inner, change) for inner in value]
    return change(value) if isinstance(value, str) else value


def _map_arguments(key: str, value: Json, change: Callable[[str], str]) -> Json:
    """Return a value of a table, changed; the arguments of a tool, as a table, count as their text."""
    if key in _ARGUMENTS and isinstance(value, Mapping):
        text = compact(value)
        changed = change(text)
        return value if changed == text else try_parse(changed, otherwise=value)
    return _map_said(value, change)


class RequestParts(Struct, frozen=True):
    """What a request says: the texts that do not come from the user, and all of it as one text."""

    texts: frozenset[str]
    written: str

    @classmethod
    def of(cls, sent: Sent) -> "RequestParts":
        """Read it from a request."""
        texts = set[str]()

        def note(text: str) -> str:
            texts.add(text)
            return text

        _map_history(_parse(sent.body), note)
        return cls(frozenset(texts), f"{sent.path}?{sent.query} {sent.body.decode('utf-8', 'replace')}")

    def repeats(self, said: AnswerParts) -> bool:
        """Return whether it repeats something of an answer."""
        return not self.texts.isdisjoint(said.texts.values()) or any(id in self.written for id in said.ids.values())


def find_chains(episodes: Sequence[Episode]) -> tuple[tuple[int, ...], ...]:
    """Return the positions of the episodes of each chain; most are alone in theirs."""
    chain_of = list(range(len(episodes)))
    asked = [RequestParts.of(episode.request) for episode in episodes]
    for at, episode in enumerate(episodes):
        said = AnswerParts.of(episode)
        for later in range(at + 1, len(episodes)):
            if chain_of[later] != chain_of[at] and asked[later].repeats(said):
                joined, gone = sorted((chain_of[at], chain_of[later]))
                chain_of = [joined if each == gone else each for each in chain_of]
    return tuple(tuple(at for at, each in enumerate(chain_of) if each == chain) for chain in sorted({*chain_of}))


class Renewal(Struct):
    """What new answers say in place of old ones, to be put into the requests that repeat it."""

    ids: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    lost: list[AnswerParts] = field(default_factory=list)  # what has no counterpart

    def learn(self, old: Episode, new: Episode) -> None:
        """Note what a new answer says in place of an old one."""
        before, after = AnswerParts.of(old), AnswerParts.of(new)
        self.ids |= {id: after.ids[place] for place, id in before.ids.items() if place in after.ids}
        self.texts |= {text: after.texts[place] for place, text in before.texts.items() if place in after.texts}
        self.lost.append(
            AnswerParts(
                {place: id for place, id in before.ids.items() if place not in after.ids},
                {place: text for place, text in before.texts.items() if place not in after.texts},
            )
        )

    def apply(self, sent: Sent) -> Sent | None:
        """Return the request to send now; None if it repeats what no new answer has said."""
        asked = RequestParts.of(sent)
        if any(asked.repeats(said) for said in self.lost):
            return None
        tree = _parse(sent.body)
        renewed = _map_history(tree, lambda text: self.texts.get(text, text))
        body = sent.body if renewed == tree else compact(renewed).encode()
        path, query = sent.path, sent.query
        for old, new in self.ids.items():
            path, query = path.replace(old, new), query.replace(old, new)
            body = body.replace(old.encode(), new.encode())
        return replace(sent, path=path, query=query, body=body)
