"""What each kind of request costs: server CPU beside a bare uvicorn app that reads the body and sends fixed bytes.

    python benchmarks/kinds.py                                    all kinds
    python benchmarks/kinds.py template "tool call" --rounds 3    those that are named
    python benchmarks/kinds.py --of OLD --of NEW                  those of other checkouts, by turns
    python benchmarks/kinds.py --check                            are they answered as they should be?

Every body is new: the text of its last message has a number that no other has. The rules of all kinds are in one file,
kinds.yaml, so that each kind is measured beside the others; where a setting must differ, the same file is served by
another process. Server and load have a processor each. A ratio is what a slice of requests costs, divided by the mean
of two slices, before and after it, of what the kind is compared with. The median of the rounds counts.
"""

import argparse
import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from math import inf
from pathlib import Path
from statistics import mean, median

import chats
from chats import chat, chat_at
from load import WARM_UP, ask, cpu_seconds, free_port, is_whole, measure, server
from rules_file import serve

HERE = Path(__file__).parent
RULES = HERE / "kinds.yaml"
COUNT = 1_000  # requests of a slice
ROUNDS = 5
EPISODES = 50  # of each cassette's kind
ORIGIN = "http://localhost:3000"
FIRST = "first thousand requests after a start"
SETTINGS: Mapping[str, Sequence[str]] = {  # each in a process of its own
    "no settings": (),
    "keys": ("--keys", "sk-test,sk-other,sk-third"),
    "CORS": ("--cors", ORIGIN),
    "limits": ("--limits", "{requests_per_minute: 1000000000, tokens_per_minute: 1000000000}"),
    "cassette": ("--cassette", "tape"),
    "log": ("--log", "json"),
    "no journal": ("--journal-calls", "0"),
}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of request, and what it may cost.

    `ask` makes a request of a text; the `text` and the `answer`, which is in what comes back, have the request's number
    where they have `{}`. The kind costs at most so many times what the kind `beside` it does.
    """

    name: str
    at_most: float = inf  # without it, only the last release is the measure
    ask: Callable[[str], bytes] = chat
    text: str = "hello {}"
    answer: str = "Hello! How can I help you today?"
    statuses: frozenset[int] = frozenset((200,))
    settings: str = "no settings"
    beside: str = "bare"

    @property
    def row(self) -> str:
        """Its name in a table of ratios."""
        return f"{self.name} / {self.beside}"

    def request(self, number: int) -> bytes:
        """The request with this number."""
        return self.ask(self.text.replace("{}", str(number)))


def ask_taped(number: str, *, stream: bool = False) -> bytes:
    """Ask one of the questions that are recorded: the text recurs, `user` is new and is not compared."""
    return chat(f"on the sights of town {int(number) % EPISODES}", user=f"user {number}", stream=stream)


def ask_mixed(number: str) -> bytes:
    """A third constant texts, a third templates and tool calls, the rest errors, streams and generated texts."""
    turn, third = divmod(int(number), 3)
    names = MIXED[third]
    return KINDS[names[turn % len(names)]].request(int(number))


MIXED: Sequence[Sequence[str]] = (
    ("constant text", "constant text", "times"),
    ("template", "tool call", "tool call with a template"),
    ("scripted error", "stream of a constant text", "stream of a template", "generated text"),
)
BARE = Kind(name="bare", settings="bare")


def list_chats() -> Iterator[Kind]:
    """Chats of OpenAI's that a rule answers."""
    said = "You said to gpt-4o: template {}"
    weather = partial(chat, tools=[chats.offer("get_weather")])
    yield Kind(name="constant text", at_most=1.6)
    yield Kind(name="constant text, blank at the end", at_most=1.6, text="hello {} ")
    yield Kind(name="scripted error", at_most=1.6, text="too fast {}", answer="Rate limit", statuses=frozenset((429,)))
    yield Kind(name="times", at_most=1.6, text="count this {}")
    yield Kind(name="state", at_most=1.6, text="take turns {}", answer='"content":"Hello! ')
    yield Kind(name="steps", at_most=1.6, ask=chats.answer_first_question, text="next step {}", answer="your quest?")
    yield Kind(name="stated usage", at_most=1.6, text="dear {}", answer='"total_tokens":1020')
    yield Kind(name="max_tokens cut", at_most=1.6, ask=partial(chat, max_tokens=5), answer='"finish_reason":"length"')
    yield Kind(name="keys", at_most=1.6, settings="keys")
    yield Kind(
        name="CORS",
        at_most=1.6,
        ask=partial(chats.chat_from, ORIGIN),
        answer=f"access-control-allow-origin: {ORIGIN}",
        settings="CORS",
    )
    yield Kind(name="template", at_most=2.2, text="template {}", answer=said)
    yield Kind(name="template, blank at the end", at_most=2.2, text="template {} ", answer=f"{said} ")
    yield Kind(name="regex with a group", at_most=2.2, text="where is order {}?", answer="Order {} is on its way")
    yield Kind(name="JSON with a template", at_most=2.2, text="{} as JSON", answer=r"\"{} as JSON\"")
    yield Kind(name="tool call", at_most=2.2, ask=weather, text="weather here {}", answer=r"\"Oslo\"")
    yield Kind(
        name="tool call with a template", at_most=2.2, ask=weather, text="weather in {}", answer=r"\"weather in {}\""
    )
    yield Kind(
        name="picture in the prompt", at_most=2.2, ask=chats.show_picture, text="picture {}", answer="A red square"
    )
    yield Kind(
        name="body expression",
        at_most=2.2,
        ask=lambda text: chats.converse(chats.SYSTEM, chats.user(text, name="ann")),
        text="good day {}",
        answer="Hello Ann!",
    )
    yield Kind(name="three choices", at_most=2.2, ask=partial(chat, n=3), answer='"index":2')
    yield Kind(name="8 kB of instructions", at_most=2.2, ask=chats.instruct_at_length)
    yield Kind(name="limits", at_most=2.2, answer="x-ratelimit-remaining-tokens: 9999", settings="limits")
    yield Kind(
        name="agent's history of 20 messages",
        at_most=3.0,
        ask=chats.go_on_as_agent,
        text="thank you {}",
        answer="You are welcome!",
    )
    yield Kind(
        name="agent's history of 20 messages, all of them new",
        ask=lambda text: chats.go_on_as_agent(text, mark=f" {text}"),
        text="thank you {}",
        answer="You are welcome!",
    )
    stream = partial(chat, stream=True)
    yield Kind(name="stream of a constant text", at_most=3.0, ask=stream, answer='"content":" How"')
    yield Kind(name="stream of 50 pieces", at_most=3.0, ask=stream, text="fifty {}", answer='"content":" words"')
    yield Kind(name="stream of a template", at_most=3.0, ask=stream, text="template {}", answer='"content":" said"')
    yield Kind(name="fault by chance", text="perhaps {}")
    yield Kind(name="timing", text="soon {}")
    yield Kind(name="log: json", settings="log")
    yield Kind(name="journal_calls: 0", settings="no journal")


def list_others() -> Iterator[Kind]:
    """Requests of OpenAI's that no rule answers, or not with a chat."""
    yield Kind(
        name="refused request",
        at_most=3.0,
        ask=partial(chat, temperature="hot"),
        answer="'temperature'",
        statuses=frozenset((400,)),
    )
    yield Kind(name="logprobs", at_most=6, ask=partial(chat, logprobs=True, top_logprobs=3), answer='"top_logprobs":[{')
    yield Kind(name="embedding", at_most=6, ask=chats.embed, answer='"embedding":"')
    yield Kind(name="cassette", at_most=1.8, ask=ask_taped, text="{}", answer='"content":"', settings="cassette")
    yield Kind(
        name="cassette, stream",
        at_most=1.8,
        ask=partial(ask_taped, stream=True),
        text="{}",
        answer='"delta":{"content"',
        settings="cassette",
    )
    yield Kind(name="generated text", at_most=4, text="on the topic of {}", answer='"content":"')
    yield Kind(
        name="generated text, stream",
        at_most=4,
        ask=partial(chat, stream=True),
        text="on the topic of {}",
        answer='"delta":{"content"',
    )
    called = r'"arguments":"{\"city\":\"Oslo'
    yield Kind(
        name="generated call, two tools",
        at_most=6,
        ask=chats.ask_for_weather,
        text="Is it warm in Oslo? {}",
        answer=called,
    )
    yield Kind(
        name="generated call, fifty tools",
        at_most=10,
        ask=partial(chats.ask_for_weather, others=49),
        text="Is it warm in Oslo? {}",
        answer=called,
    )
    yield Kind(
        name="generated object of five properties",
        at_most=6,
        ask=chats.extract_person,
        text="Ada Lovelace, 36, lives in London, customer {}",
        answer=r"\"name\":\"Ada Lovelace\"",
    )
    yield Kind(name="generated prose of 100 tokens", text="prose {}", answer='"content":"')
    yield Kind(
        name="mixed load",
        at_most=2.2,  # the mean of what its parts may cost
        ask=ask_mixed,
        text="{}",
        answer="",
        statuses=frozenset((200, 429)),
    )


def list_dialects() -> Iterator[Kind]:
    """Texts and streams of other APIs, beside the same of OpenAI's chat."""
    apis: Mapping[str, Callable[..., bytes]] = {
        "Responses": chats.ask_responses,
        "Anthropic": chats.ask_anthropic,
        "Gemini": chats.ask_gemini,
        "Bedrock Converse": chats.ask_bedrock,
        "Bedrock InvokeModel": chats.invoke_claude,
        "Ollama": chats.ask_ollama,
        "Cohere": chats.ask_cohere,
        "Mistral": chat_at("/mistral/v1/chat/completions"),
        "DeepSeek": chat_at("/deepseek/v1/chat/completions"),
        "OpenRouter": chat_at("/openrouter/api/v1/chat/completions"),
        "xAI": chat_at("/xai/v1/chat/completions"),
        "Groq": chat_at("/groq/openai/v1/chat/completions"),
        "Together": chat_at("/together/v1/chat/completions"),
        "Perplexity": chat_at("/perplexity/chat/completions"),
        "Azure OpenAI": chat_at("/azure-openai/openai/v1/chat/completions"),
        "Azure AI Inference": chat_at("/azure/models/chat/completions?api-version=2024-05-01-preview"),
        "Fireworks completions": partial(chats.complete, path="/fireworks/inference/v1/completions"),
        "Tzafon": chat_at("/tzafon/v1/chat/completions"),
    }
    for name, api in apis.items():
        beside = partial(Kind, name=name, at_most=1.4)
        yield beside(ask=api, beside="constant text")
        yield beside(ask=api, text="template {}", answer="template {}", beside="template")
        held = '"bytes":"' if api is chats.invoke_claude else "Hello"  # whose text is in base64
        yield beside(ask=partial(api, stream=True), answer=held, beside="stream of a constant text")


LISTED: Sequence[Kind] = (*list_chats(), *list_others(), *list_dialects())
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (BARE, *LISTED) if kind.beside == "bare"}
ROWS: Sequence[str] = [*(kind.row for kind in LISTED), f"{FIRST} / bare"]
LIMITS: Mapping[str, float] = {kind.row: kind.at_most for kind in LISTED}  # of what a row may be at most


class Bench:
    """The servers that these kinds need, of a checkout, and what requests cost them."""

    def __init__(self, running: ExitStack, kinds: Sequence[Kind], checkout: Path) -> None:
        self.running = running
        self.environment = {"PYTHONPATH": str(checkout)}
        self.cassettes = running.enter_context(tempfile.TemporaryDirectory())
        self.numbers = count()
        self.ports: dict[str, int] = {}
        self.pids: dict[str, int] = {}
        for settings in dict.fromkeys((BARE.settings, "no settings", *(kind.settings for kind in kinds))):
            self.start(settings)
        for kind in kinds:
            ask_once(self.ports[kind.settings], kind, next(self.numbers))

    def start(self, settings: str) -> None:
        """Start the server with these settings; what a cassette plays is recorded first, from our own answers."""
        port = free_port()
        if settings == "cassette":
            upstream = f"openai=http://127.0.0.1:{self.ports['no settings']}/v1"
            recorder = (*self.command(settings, port), "--record", "new_episodes", "--upstream", upstream)
            with server(*recorder, port=port, env=self.environment):
                for kind in (KINDS["cassette"], KINDS["cassette, stream"]):
                    for number in range(EPISODES):
                        ask_once(port, kind, number)
        started = server(*self.command(settings, port), port=port, env=self.environment)
        self.ports[settings], self.pids[settings] = port, self.running.enter_context(started)

    def command(self, settings: str, port: int) -> Sequence[str]:
        """The command that starts the server with these settings."""
        if settings == BARE.settings:
            return str(HERE / "servers.py"), "bare", str(port)
        return serve(RULES, port, "--cassettes", self.cassettes, *SETTINGS[settings])

    def measure_round(self, kinds: Sequence[Kind]) -> Iterator[float]:
        """The ratio of each kind, between two slices of what it is compared with."""
        beside, before = "", 0.0
        for kind in kinds:
            if kind.beside != beside:
                beside, before = kind.beside, self.measure(KINDS[kind.beside])
            cost = self.measure(kind)
            after = self.measure(KINDS[beside])
            yield cost / mean((before, after))
            before = after

    def measure(self, kind: Kind) -> float:
        """Seconds of CPU of a request: the mean of a slice of them, after some to warm up."""
        requests = [kind.request(number) for number in islice(self.numbers, COUNT + WARM_UP)]
        pid, port = self.pids[kind.settings], self.ports[kind.settings]
        return measure(pid, port, requests, count=COUNT, statuses=kind.statuses).cpu

    def measure_first_thousand(self) -> float:
        """The ratio of the first requests of a mixed load: servers that have just started, of ours and bare."""
        mixed, seconds = KINDS["mixed load"], list[float]()
        requests = [mixed.request(number) for number in range(1_000)]
        for settings in (mixed.settings, BARE.settings):
            port = free_port()
            with server(*self.command(settings, port), port=port, env=self.environment) as pid:
                before = cpu_seconds(pid)
                ask(port, requests, len(requests), statuses=mixed.statuses)
                seconds.append(cpu_seconds(pid) - before)
        return seconds[0] / seconds[1]


def ask_once(port: int, kind: Kind, number: int) -> None:
    """Ask for one answer of a kind; it is an error if it is not what it should be."""
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(kind.request(number))
        answer = b""
        while not is_whole(answer) and (piece := sock.recv(1 << 16)):
            answer += piece
    held = kind.answer.replace("{}", str(number))
    if int(answer[9:12]) not in kind.statuses or held.encode() not in answer:
        raise RuntimeError(f"the answer to {kind.name} is not {sorted(kind.statuses)} with {held!r}: {answer!r}")


def measure_kinds(
    names: Sequence[str] = (), *, rounds: int = ROUNDS, checkouts: Sequence[Path] = (HERE.parent,)
) -> Mapping[Path, Mapping[str, Sequence[float]]]:
    """The ratios of the rows of these names, or of all, one for each round: of each checkout, by turns."""
    chosen = [kind for kind in LISTED if kind.name in names or not names]
    rows = [row for row in ROWS if row.partition(" / ")[0] in names or not names]
    ratios: dict[Path, dict[str, list[float]]] = {checkout: {row: [] for row in rows} for checkout in checkouts}
    with ExitStack() as running:
        benches = {checkout: Bench(running, chosen, checkout) for checkout in checkouts}
        for _ in range(rounds):
            for checkout, bench in benches.items():
                found = list(bench.measure_round(chosen))
                if len(rows) > len(found):
                    found.append(bench.measure_first_thousand())
                for row, ratio in zip(rows, found, strict=True):
                    ratios[checkout][row].append(ratio)
    return ratios


def kinds() -> Mapping[str, float]:
    """The median ratio of each row."""
    (ratios,) = measure_kinds().values()
    return {row: median(found) for row, found in ratios.items()}


def main() -> None:
    """Print the ratios of the kinds that are named, or of all."""
    parser = argparse.ArgumentParser(description="What each kind of request costs beside a bare app, in CPU.")
    parser.add_argument("name", nargs="*", help="a row of the table (default: all)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each is measured")
    parser.add_argument("--of", type=Path, action="append", help="a checkout to measure (default: this one)")
    parser.add_argument("--check", action="store_true", help="ask for each kind once, and measure nothing")
    options = parser.parse_args()
    known = [*dict.fromkeys(kind.name for kind in LISTED), FIRST]
    if unknown := [name for name in options.name if name not in known]:
        parser.error(f"there is no {', '.join(unknown)}; there are: {', '.join(known)}")
    checkouts = [path.resolve() for path in options.of or (HERE.parent,)]
    found = measure_kinds(options.name, rounds=0 if options.check else options.rounds, checkouts=checkouts)
    for checkout, ratios in found.items():
        print(f"{checkout}, load of the machine: {' '.join([f'{load:.1f}' for load in os.getloadavg()])}")
        for row, each in ratios.items():
            if each:
                limit = LIMITS.get(row, inf)
                told = f"{median(each):6.2f} ({min(each):.2f} to {max(each):.2f})"
                print(f"{row:<72} {told:<24} {f'at most {limit}' if limit < inf else '':<12}", end="")
                print("TOO DEAR" if median(each) > limit else "")
    if options.check:
        print(f"{len(LISTED)} kinds are answered as they should be")


if __name__ == "__main__":
    main()
