"""What each kind of request costs: server CPU beside a bare uvicorn app that reads the body and sends fixed bytes.

`python benchmarks/kinds.py` measures all kinds, `python benchmarks/kinds.py template "tool call"` those that are named
(with `-3`, in three rounds). Every body is new. One file, kinds.yaml, has the rules of all kinds, so that each is measured beside
the others. Server and load have a processor each. A kind and what it is compared with take turns: a ratio is what a
slice of requests cost, divided by the mean of the slices before and after it. The median of the rounds counts.
"""

import argparse
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count, islice
from math import inf
from pathlib import Path
from statistics import mean, median

from chats import SYSTEM, chat, completion, content, embedding, message, response
from load import WARM_UP, ask, cpu_seconds, free_port, is_whole, measure, server

HERE = Path(__file__).parent
RULES = HERE / "kinds.yaml"
COUNT = 1_000  # requests of a slice
ROUNDS = 5
ORIGIN = "http://localhost:3000"
PLENTY = "{requests_per_minute: 1000000000, tokens_per_minute: 1000000000}"
SETTINGS: Mapping[str, Sequence[str]] = {  # each in a server of its own
    "rules": (),
    "keys": ("--keys", "sk-test,sk-other,sk-third"),
    "cors": ("--cors", ORIGIN),
    "limits": ("--limits", PLENTY),
    "cassette": ("--cassette", "tape"),
}
FIRST = "the first thousand requests after a start"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of request.

    `request` makes the one with a number; `answer` is in what it gets, with the number in place of `{}`. It costs at
    most so many times what the kind `beside` it does.
    """

    name: str
    at_most: float
    request: Callable[[int], bytes]
    answer: str = "Hello! How can I help you today?"
    statuses: frozenset[int] = frozenset((200,))
    served_by: str = "rules"
    beside: str = "bare"

    @property
    def row(self) -> str:
        """Its name in a table of ratios."""
        return f"{self.name} / {self.beside}"


def get_weather() -> dict[str, object]:
    """A tool as a client offers it."""
    city = {"type": "string", "description": "The city, such as Oslo."}
    unit = {"type": "string", "enum": ["celsius", "fahrenheit"]}
    shape = {"type": "object", "properties": {"city": city, "unit": unit}, "required": ["city"]}
    return {"type": "function", "function": {"name": "get_weather", "description": "The weather.", "parameters": shape}}


def get_order(name: str = "get_order") -> dict[str, object]:
    """A tool of the agent."""
    number = {"type": "string", "description": "The number of the order, as it stands on the bill."}
    shape = {"type": "object", "properties": {"number": number}, "required": ["number"]}
    about = "Looks up an order by its number, and tells where it is and when it comes."
    return {"type": "function", "function": {"name": name, "description": about, "parameters": shape}}


def conversation(*messages: Mapping[str, object], **more: object) -> bytes:
    """Ask for a chat with these messages after the usual instruction."""
    return chat("", messages=[{"role": "system", "content": SYSTEM}, *messages], **more)


def with_picture(number: int) -> bytes:
    """Show a small picture."""
    pixels = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{pixels}"}}
    text = {"type": "text", "text": f"what is in picture {number}?"}
    return conversation({"role": "user", "content": [text, picture]})


def at_second_step(number: int) -> bytes:
    """Answer the first question of a script."""
    asked = {"role": "assistant", "content": "What is your name?"}
    return conversation({"role": "user", "content": "begin"}, asked, {"role": "user", "content": f"next step {number}"})


def agent(number: int, *, of_history: str = "") -> bytes:
    """Ask as an agent does after eight tool calls: 20 messages, of which the last one is new, or all if so told."""
    messages: list[dict[str, object]] = [{"role": "user", "content": f"Where are my orders?{of_history}"}]
    for each in range(8):
        called = {"name": "get_order", "arguments": f'{{"number": "{1000 + each}{of_history}"}}'}
        call = {"id": f"call_{each}", "type": "function", "function": called}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        result = f'{{"place": "on a ship near Bergen{of_history}", "arrives": "in {each + 2} days", "weight": 12.5}}'
        messages.append({"role": "tool", "tool_call_id": f"call_{each}", "content": result})
    messages.append({"role": "assistant", "content": f"All of them are on a ship near Bergen.{of_history}"})
    messages.append({"role": "user", "content": f"thank you {number}"})
    tools = [get_order("get_order"), get_order("cancel_order"), get_order("change_order"), get_weather()]
    return conversation(*messages, tools=tools)


def with_long_instruction(number: int) -> bytes:
    """Send 8 kB of instructions, the same each time."""
    long = "You help the customers of a shop. Be kind, be short, and never promise what you cannot know. " * 86
    messages = [{"role": "system", "content": long[:8_000]}, {"role": "user", "content": f"hello {number}"}]
    return chat("", messages=messages)


def taped(number: int, *, stream: bool = False) -> bytes:
    """Ask one of the questions that are recorded: `user` is new each time, and is not compared."""
    more = {"stream": True} if stream else {}
    return chat(f"on the sights of town {number % EPISODES}", user=f"user {number}", **more)


def gpt_at(path: str) -> Callable[..., bytes]:
    """Make chats for another dialect that speaks OpenAI's language."""
    return lambda text, **more: chat(text, path=path, **more)


EPISODES = 50
DIALECTS: Mapping[str, Callable[..., bytes]] = {
    "Responses": response,
    "Anthropic": message,
    "Gemini": content,
    "Azure OpenAI": gpt_at("/azure-openai/openai/v1/chat/completions"),
    "Azure AI Inference": gpt_at("/azure/models/chat/completions?api-version=2024-05-01-preview"),
    "Fireworks completions": lambda text, **more: completion(text, path="/fireworks/inference/v1/completions", **more),
    "Tzafon": gpt_at("/tzafon/v1/chat/completions"),
}


def mixed(number: int) -> bytes:
    """A third constant texts, a third templates and tools, the rest errors, streams and generated texts."""
    third = ("constant text", "constant text", "times")
    other = ("template", "tool call", "tool call with a template")
    rest = ("scripted error", "stream of a constant text", "stream of a template", "generated text")
    turn, place = divmod(number, 3)
    names = (third, other, rest)[place]
    return KINDS[names[turn % len(names)]].request(number)


def list_kinds() -> Iterator[Kind]:
    """All kinds, in the order of the table."""
    refused = frozenset((400,))
    limited = frozenset((429,))
    tools = [get_weather()]
    said = "You said to gpt-4o: template {}"
    yield Kind(name="constant text", at_most=1.6, request=lambda n: chat(f"hello {n}"))
    yield Kind(name="constant text, blank at the end", at_most=1.6, request=lambda n: chat(f"hello {n} "))
    yield Kind(
        name="scripted error",
        at_most=1.6,
        request=lambda n: chat(f"too fast {n}"),
        answer="Rate limit",
        statuses=limited,
    )
    yield Kind(name="times", at_most=1.6, request=lambda n: chat(f"counted {n}"))
    yield Kind(name="state", at_most=1.6, request=lambda n: chat(f"by turns {n}"), answer='"content":"Hello! ')
    yield Kind(name="steps", at_most=1.6, request=at_second_step, answer="And what is your quest?")
    yield Kind(name="stated usage", at_most=1.6, request=lambda n: chat(f"dear {n}"), answer='"total_tokens":1020')
    yield Kind(
        name="max_tokens cut",
        at_most=1.6,
        request=lambda n: chat(f"hello {n}", max_tokens=5),
        answer='"finish_reason":"length"',
    )
    yield Kind(name="keys", at_most=1.6, request=lambda n: chat(f"hello {n}"), served_by="keys")
    yield Kind(
        name="CORS",
        at_most=1.6,
        request=lambda n: chat(f"hello {n}", origin=ORIGIN),
        answer=f"access-control-allow-origin: {ORIGIN}",
        served_by="cors",
    )
    yield Kind(name="template", at_most=2.2, request=lambda n: chat(f"template {n}"), answer=said)
    yield Kind(
        name="template, blank at the end", at_most=2.2, request=lambda n: chat(f"template {n} "), answer=f"{said} "
    )
    yield Kind(
        name="regex with a group",
        at_most=2.2,
        request=lambda n: chat(f"where is order {n}?"),
        answer="Order {} is on its way to you.",
    )
    yield Kind(
        name="JSON with a template", at_most=2.2, request=lambda n: chat(f"{n} as json"), answer=r"\"{} as json\""
    )
    yield Kind(
        name="tool call",
        at_most=2.2,
        request=lambda n: chat(f"weather here {n}", tools=tools),
        answer='"finish_reason":"tool_calls"',
    )
    yield Kind(
        name="tool call with a template",
        at_most=2.2,
        request=lambda n: chat(f"weather in {n}", tools=tools),
        answer=r"\"weather in {}\"",
    )
    yield Kind(name="picture in the prompt", at_most=2.2, request=with_picture, answer="A red square")
    yield Kind(
        name="body expression",
        at_most=2.2,
        request=lambda n: conversation({"role": "user", "name": "ann", "content": f"good day {n}"}),
        answer="Hello Ann!",
    )
    yield Kind(name="n: 3", at_most=2.2, request=lambda n: chat(f"hello {n}", n=3), answer='"index":2')
    yield Kind(name="8 kB of instructions", at_most=2.2, request=with_long_instruction)
    yield Kind(
        name="limits",
        at_most=2.2,
        request=lambda n: chat(f"hello {n}"),
        answer="x-ratelimit-remaining-tokens: 9999",
        served_by="limits",
    )
    yield Kind(name="agent's history of 20 messages", at_most=3.0, request=agent, answer="You are welcome!")
    yield Kind(
        name="agent's history of 20 messages, all new",
        at_most=3.5,
        request=lambda n: agent(n, of_history=f" {n}"),
        answer="You are welcome!",
    )
    yield Kind(
        name="stream of a constant text",
        at_most=3.0,
        request=lambda n: chat(f"hello {n}", stream=True),
        answer='"content":" How"',
    )
    yield Kind(
        name="stream of 50 pieces", at_most=3.0, request=lambda n: chat(f"fifty {n}", stream=True), answer=" words"
    )
    yield Kind(
        name="stream of a template",
        at_most=3.0,
        request=lambda n: chat(f"template {n}", stream=True),
        answer='"content":" said"',
    )
    yield Kind(
        name="refused request",
        at_most=3.0,
        request=lambda n: chat(f"hello {n}", temperature="hot"),
        answer="'temperature'",
        statuses=refused,
    )
    yield Kind(
        name="logprobs",
        at_most=6,
        request=lambda n: chat(f"hello {n}", logprobs=True, top_logprobs=3),
        answer='"top_logprobs":[{',
    )
    yield Kind(name="embedding", at_most=6, request=lambda n: embedding(f"hello {n}"), answer='"embedding":"')
    yield Kind(name="cassette", at_most=1.8, request=taped, answer='"content":"', served_by="cassette")
    yield Kind(
        name="cassette, stream",
        at_most=1.8,
        request=lambda n: taped(n, stream=True),
        answer='"delta":{"content"',
        served_by="cassette",
    )
    yield Kind(name="generated text", at_most=4, request=lambda n: chat(f"on the topic of {n}"), answer='"content":"')
    yield Kind(name="mixed load", at_most=2.4, request=mixed, answer="", statuses=frozenset((200, 429)))
    for name, request in DIALECTS.items():
        yield from list_dialect(name, request)


def list_dialect(name: str, request: Callable[..., bytes]) -> Iterator[Kind]:
    """The kinds of a dialect, each beside the same of OpenAI's chat."""
    stream: Mapping[str, object] = {"stream": True}
    kinds = {
        "constant text": lambda n: request(f"hello {n}"),
        "template": lambda n: request(f"template {n}"),
        "stream of a constant text": lambda n: request(f"hello {n}", **stream),
    }
    for beside, numbered in kinds.items():
        answer = {"template": "template {}", "constant text": "Hello! How can"}.get(beside, "Hello")
        yield Kind(name=f"{name}: {beside}", at_most=1.4, request=numbered, answer=answer, beside=beside)


BARE = Kind(name="bare", at_most=1, request=lambda n: chat(f"hello {n}"), served_by="bare")
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (BARE, *list_kinds())}


def ask_once(port: int, kind: Kind, number: int) -> None:
    """Ask for one answer of a kind, and look whether it is what it should be."""
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(kind.request(number))
        answer = b""
        while not is_whole(answer):
            piece = sock.recv(1 << 16)
            if not piece:
                break
            answer += piece
    if int(answer[9:12]) not in kind.statuses or kind.answer.replace("{}", str(number)).encode() not in answer:
        raise RuntimeError(f"{kind.name} is answered by {answer.decode()}, without {kind.answer!r}")


class Bench:
    """The servers that kinds need, and what their requests cost."""

    def __init__(self, running: ExitStack, kinds: Sequence[Kind]) -> None:
        self.numbers = count()
        self.ports: dict[str, int] = {}
        self.pids: dict[str, int] = {}
        self.running = running
        self.start("bare", str(HERE / "servers.py"), "bare", "{port}")
        self.start("rules", *serve("rules"))
        for name in dict.fromkeys(kind.served_by for kind in kinds):
            if name == "cassette":
                self.record()
            if name not in self.ports:
                self.start(name, *serve(name))
        for kind in kinds:
            ask_once(self.ports[kind.served_by], kind, next(self.numbers))

    def start(self, name: str, *command: str) -> None:
        """Start a server on a port of its own."""
        port = self.ports[name] = free_port()
        words = [word.replace("{port}", str(port)) for word in command]
        self.pids[name] = self.running.enter_context(server(*words, port=port))

    def record(self) -> None:
        """Record a cassette of answers of our own."""
        os.environ["MOCKSERVER_CASSETTES"] = self.running.enter_context(tempfile.TemporaryDirectory())
        upstream = f"openai=http://127.0.0.1:{self.ports['rules']}/v1"
        port = free_port()
        words = [word.replace("{port}", str(port)) for word in serve("cassette")]
        with server(*words, "--record", "new_episodes", "--upstream", upstream, port=port):
            for name in ("cassette", "cassette, stream"):
                for number in range(EPISODES):
                    ask_once(port, KINDS[name], number)

    def measure(self, kind: Kind) -> float:
        """Seconds of CPU of a request: the mean of a slice of them, after some to warm up."""
        requests = [kind.request(number) for number in islice(self.numbers, COUNT + WARM_UP)]
        where = {"pid": self.pids[kind.served_by], "port": self.ports[kind.served_by]}
        return measure(**where, requests=requests, count=COUNT, statuses=kind.statuses).cpu

    def measure_round(self, kinds: Sequence[Kind]) -> Iterator[float]:
        """The ratio of each kind, between two slices of what it is compared with."""
        beside, before = "", 0.0
        for kind in kinds:
            if kind.beside != beside:
                before = self.measure(KINDS[kind.beside])
            cost = self.measure(kind)
            after = self.measure(KINDS[kind.beside])
            yield cost / mean((before, after))
            beside, before = kind.beside, after


def serve(settings: str) -> Sequence[str]:
    """The command that serves the rules with these settings, on `{port}`."""
    return "-m", "mockserver", "serve", str(RULES), "--port", "{port}", "--no-reload", *SETTINGS[settings]


def measure_first_thousand() -> float:
    """What a thousand requests of the mixed load cost a server that has just started, beside a bare one."""
    seconds = dict[str, float]()
    port, kind = free_port(), KINDS["mixed load"]
    requests = [kind.request(number) for number in range(1_000)]
    for name, command in {"bare": (str(HERE / "servers.py"), "bare", "{port}"), "rules": serve("rules")}.items():
        port = free_port()
        with server(*[word.replace("{port}", str(port)) for word in command], port=port) as pid:
            before = cpu_seconds(pid)
            ask(port, requests, len(requests), statuses=kind.statuses)
            seconds[name] = cpu_seconds(pid) - before
    return seconds["rules"] / seconds["bare"]


def measure_kinds(chosen: Sequence[Kind], *, rounds: int = ROUNDS) -> Mapping[str, Sequence[float]]:
    """The ratios of each of these kinds, one for each round, by the names of their rows."""
    ratios: dict[str, list[float]] = {kind.row: [] for kind in chosen}
    with ExitStack() as running:
        bench = Bench(running, chosen)
        for _ in range(rounds):
            for kind, ratio in zip(chosen, bench.measure_round(chosen), strict=True):
                ratios[kind.row].append(ratio)
    return ratios


def kinds() -> Mapping[str, float]:
    """The median ratio of each kind."""
    found = {row: median(ratios) for row, ratios in measure_kinds(list(list_kinds())).items()}
    return {**found, f"{FIRST} / bare": median(measure_first_thousand() for _ in range(ROUNDS))}


def main() -> None:
    """Print a line for each kind."""
    parser = argparse.ArgumentParser(description="What each kind of request costs beside a bare app, in CPU.")
    parser.add_argument("kind", nargs="*", help="a kind; all, if none is named")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    unknown = [name for name in options.kind if name not in {*KINDS, FIRST}]
    if unknown:
        parser.error(f"no such kind: {', '.join(unknown)}; there are {', '.join([*KINDS, FIRST])}")
    chosen = [kind for kind in KINDS.values() if kind is not BARE and kind.name in (options.kind or KINDS)]
    found = dict(measure_kinds(chosen, rounds=options.rounds)) if chosen else {}
    if not options.kind or FIRST in options.kind:
        found[f"{FIRST} / bare"] = [measure_first_thousand() for _ in range(options.rounds)]
    limits = {kind.row: kind.at_most for kind in KINDS.values()}
    print(f"{'CPU of one / of the other':<62} {'median':>6} {'least':>6} {'most':>6} {'limit':>6}")
    for row, ratios in found.items():
        middle, limit = median(ratios), limits.get(row, inf)
        numbers = f"{middle:6.2f} {min(ratios):6.2f} {max(ratios):6.2f} {limit:6.1f}"
        print(f"{row:<62} {numbers} {'TOO DEAR' if middle > limit else ''}")
    print(f"load of the machine: {' '.join([f'{load:.1f}' for load in os.getloadavg()])}")


if __name__ == "__main__":
    main()
