"""Recorded requests as their dialects read them: what a call says, which rules' fields it has, what a path reaches."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mockserver.cassettes.convert.foreign import Known, header
from mockserver.cassettes.convert.rules import READ, Asked
from mockserver.cassettes.parse_response import Said, Told, told
from mockserver.config.source import did_you_mean
from mockserver.core.call import Call
from mockserver.core.episode import Episode
from mockserver.core.http import Headers, HttpRequest
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.dialects import discover
from mockserver.engine.answer import singles
from mockserver.rules.match.fields import Field, find
from mockserver.server.content_coding import decoded
from mockserver.server.parse_recorded import heard, spoken
from mockserver.server.routes import operation_at, places

MOST_DECODED = 100_000_000  # bytes of a body without its codings


def unplayable(episode: Episode) -> Iterator[str]:
    """Why no request gets what was recorded, and a name that is not what its request says."""
    dialect, sent = episode.dialect, episode.request
    if dialect not in discover():
        yield f'can never be played: there is no dialect "{dialect}"{did_you_mean(dialect, discover())}'
        return
    try:
        call = spoken(dialect, sent)
    except Failure as refused:
        why = str(refused).removesuffix(".")
        yield f"can never be played: {dialect} refuses its request: {why}; mend it, or record it anew"
        return
    if call is None:
        yield f"can never be played: {dialect} has no {sent.method} {sent.path}; mend its method and path"
    elif call.operation != episode.operation:
        yield f'says that its operation is "{episode.operation}", but {sent.method} {sent.path} is {call.operation}'


def asked(episode: Episode, source: str) -> Iterator[Asked]:
    """What rules are made from; several prompts of one call each by itself. None where its dialect refuses the call."""
    call = heard(episode)
    if call is None:
        return
    said, retry = told(episode.reply, episode.operation), header(episode.reply.headers, "retry-after")
    if episode.operation != "completions":
        yield Asked(source, episode.dialect, _fields(call), said, retry)
        return
    for at, single in enumerate(singles(call)):
        yield Asked(source, episode.dialect, _fields(single), _of_prompt(said, at, call), retry)


def _of_prompt(said: Told, at: int, call: Call) -> Told:
    """The choices of one prompt, without what they repeat of it."""
    own = said.choices[at * call.n : (at + 1) * call.n]
    if call.echo:
        own = tuple(_unechoed(choice, call.prompts[at].text) for choice in own)
    return replace(said, choices=own)


def _unechoed(choice: Said, prompt: str) -> Said:
    """A choice without the end of the prompt that it begins with."""

    def without(text: str) -> str:
        return next((text[len(prompt) - at :] for at in range(len(prompt)) if text.startswith(prompt[at:])), text)

    return replace(choice, parts=tuple(replace(part, text=without(part.text)) for part in choice.parts))


def _fields(call: Call) -> Mapping[str, Json]:
    """The fields of the call that rules may tell it by."""
    found = {name: _read(name, call) for name in READ}
    found |= {f"param.{name}": value for name, value in call.raw.items() if name and "." not in name}
    return {name: value for name, value in found.items() if value is not None}


def _read(name: str, call: Call) -> Json:
    family, _, member = name.partition(".")
    field = find(family)
    if isinstance(field, Field) and member:
        field = field.members[member]
    value = field.read(call) if isinstance(field, Field) else None
    return list(value) if isinstance(value, tuple) else value


def known() -> Known:
    """What importing has to know of the dialects."""
    served = places(discover(), "openai")
    mounts = {name: dialect.mounts for name, dialect in discover().items()}
    return Known(mounts, lambda method, path: operation_at(method, path, served), _plain)


def _plain(headers: Headers, body: bytes) -> bytes:
    """A body without its codings. Raises ValueError."""
    raw = tuple((name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in headers)
    try:
        return decoded(HttpRequest("POST", "/", headers=raw, body=body), MOST_DECODED).body
    except Failure as failure:
        raise ValueError(str(failure).replace("request ", "")) from None
