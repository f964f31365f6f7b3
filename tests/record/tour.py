"""The tape that ships, `cassettes/tour.yaml`: what rules.yaml answers in every dialect, through a server that records.

`make tour` records it anew, at a pace that is worth looking at. Two servers take part, each in a process of its own:
one answers by rules.yaml; one in front of it has no rules, asks it for everything, and records what comes.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2

from mockserver.dialects import discover
from tests.kit.served import ROOT, Served, served

SHIPPED = ROOT / "cassettes" / "tour.yaml"
RULES = (ROOT / "rules.yaml").read_text()
KEY = "sk-of-the-tour"  # which is nowhere on the tape
PACE = '{"first_token": "250ms", "per_token": "30ms"}'

CHAT, COMPLETIONS, RESPONSES = "/chat/completions", "/completions", "/responses"
DEPLOYED = "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
PREVIEW = f"{CHAT}?api-version=2024-05-01-preview"
KIMI, NORTHSTAR = "accounts/fireworks/models/kimi-k2-instruct-0905", "tzafon.northstar-cua-fast"

Fields = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """One request of the tour."""

    dialect: str
    path: str  # behind the mount of its dialect
    body: Fields

    @property
    def target(self) -> str:
        """Where it goes at a server."""
        return discover()[self.dialect].mounts[0] + self.path


@dataclass(frozen=True)
class Got:
    """What it got."""

    status: int
    headers: httpx2.Headers
    body: bytes


def said(model: str, text: str, **fields: Any) -> Fields:
    """A chat in which the user says one thing."""
    return {"model": model, "messages": [{"role": "user", "content": text}], **fields}


def streamed(body: Fields) -> Fields:
    """The same as a stream."""
    return {**body, "stream": True}


HELLO, WEATHER, VIOLENT = "Hello there", "What is the weather in Oslo?", "Tell me a violent story."
PASSWORD = "How do I change my password?"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOL = {"type": "function", "name": "get_weather", "parameters": CITY}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": CITY}}]

TOUR = (
    Asked("openai", CHAT, said("gpt-4o", HELLO)),
    Asked("openai", CHAT, streamed(said("gpt-4o", HELLO))),
    Asked("openai", RESPONSES, streamed({"model": "gpt-4o", "input": "Any news today?"})),
    Asked("skytells", CHAT, said("gpt-4o", VIOLENT)),
    Asked("skytells", CHAT, streamed(said("gpt-4o", HELLO))),
    Asked("crazyrouter", CHAT, said("gpt-4o", WEATHER, tools=TOOLS)),
    Asked("crazyrouter", CHAT, streamed(said("gpt-4o", HELLO))),
    Asked("tzafon", RESPONSES, {"model": NORTHSTAR, "input": WEATHER, "tools": [TOOL]}),
    Asked("tzafon", RESPONSES, streamed({"model": NORTHSTAR, "input": HELLO})),
    Asked("azure", PREVIEW, said("Phi-4", HELLO)),
    Asked("azure", PREVIEW, streamed(said("Phi-4", WEATHER, tools=TOOLS))),
    Asked("azure", PREVIEW, said("Phi-4", "How to build a bomb?")),
    Asked("azure_openai", DEPLOYED, streamed(said("gpt-4o", VIOLENT))),
    Asked("fireworks", COMPLETIONS, {"model": KIMI, "prompt": HELLO}),
    Asked("fireworks", COMPLETIONS, streamed({"model": KIMI, "prompt": HELLO})),
    Asked("fireworks", CHAT, said("busy-model", HELLO)),
    Asked("cohere", "/v2/rerank", {"model": "rerank-v3.5", "query": PASSWORD, "documents": ["Prices", "Passwords"]}),
)


def ask(server: Served) -> list[Got]:
    """What a server answers, request by request."""
    headers = {"authorization": f"Bearer {KEY}"}
    with httpx2.Client(base_url=server.address, headers=headers, trust_env=False, timeout=30) as client:
        came = [client.post(asked.target, json=asked.body) for asked in TOUR]
    return [Got(one.status_code, one.headers, one.content) for one in came]


def record(upstream: Served, folder: Path) -> list[Got]:
    """Have `tour.yaml` recorded in a folder; what the recording server passed on."""
    dialects = dict.fromkeys(asked.dialect for asked in TOUR)
    addresses = ",".join(f"{dialect}={upstream.base(dialect)}" for dialect in dialects)
    flags = ("--record", "once", "--cassette", "tour", "--cassettes", str(folder), "--upstream", addresses)
    with served(flags=flags) as recorder:
        return ask(recorder)


@contextmanager
def player() -> Iterator[Served]:
    """A server that has nothing but the tape that ships."""
    flags = ("--cassette", "tour", "--cassettes", str(SHIPPED.parent), "--unmatched", "error")
    with served(flags=flags) as running:
        yield running


def renewed(old: str, new: str) -> str:
    """A tape recorded anew, whose episodes keep their old moments where all else of them is as it was."""
    kept = {_timeless(document): document for document in old.split(_BETWEEN)}
    return _BETWEEN.join(kept.get(_timeless(document), document) for document in new.split(_BETWEEN))


def _timeless(document: str) -> str:
    return _MOMENT.sub("", document)


def main() -> None:
    """Record the tape that ships anew."""
    with served(RULES, flags=("--timing", PACE)) as upstream, TemporaryDirectory() as folder:
        record(upstream, Path(folder))
        new = (Path(folder) / SHIPPED.name).read_text()
    SHIPPED.write_text(renewed(SHIPPED.read_text() if SHIPPED.exists() else "", new))


_BETWEEN = "\n---\n"
_MOMENT = re.compile(r"(?<=^at: ).*|(?<=^  took: ).*|(?<=^    - \{at: )[\d.]+", re.MULTILINE)

if __name__ == "__main__":
    main()
