"""The official clients, each asked the same over one connection, and what it makes of what it gets."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
import openai
from anthropic import Anthropic
from azure.ai.inference import ChatCompletionsClient
from azure.ai.inference.models import UserMessage
from azure.core.credentials import AzureKeyCredential
from botocore.config import Config
from crazyrouter import Crazyrouter
from fireworks import Fireworks
from google import genai
from google.genai import types
from openai import AsyncOpenAI, OpenAI
from tzafon import Lightcone

from tests.kit.served import Served


@dataclass
class Seen:
    """What a client has handed to its user: texts and calls of tools, and whether it told of an end and of usage."""

    text: str = ""
    calls: list[str] = field(default_factory=list)
    finish: bool = False
    usage: bool = False
    raised: str = ""
    raw: str = ""  # the bytes of a stream that the client does not read

    def shown(self, intact: "Seen") -> str:
        """In few words, against what an intact answer comes to."""
        if self == intact:
            return "intact"
        said, whole = self._said(), intact._said()
        words = said if self.raw else "all of it" if said == whole else f"“{said}”" if said else "nothing"
        if self.raised:
            return f"{self.raised} after {words}" if said else self.raised
        lacks = [name for name in ("finish", "usage") if getattr(intact, name) and not getattr(self, name)]
        return words + (f", no {' and no '.join(lacks)}" if lacks else "")

    def _said(self) -> str:
        if self.raw:
            return "other bytes"
        return self.text + "".join(self.calls)


Read = Callable[[Any, Seen], None]


def chat(part: Any, seen: Seen) -> None:
    """A completion or a chunk of one."""
    seen.usage = seen.usage or bool(part.usage)
    for choice in part.choices or ():
        said = getattr(choice, "delta", None) or getattr(choice, "message", None)
        seen.text += (said.content or "") if said else ""
        for call in (said.tool_calls or ()) if said else ():
            seen.calls.append((call.function.name or "") + (call.function.arguments or ""))
        seen.finish = seen.finish or bool(choice.finish_reason)


def response(part: Any, seen: Seen) -> None:
    """A response or an event of its stream."""
    if isinstance(part, str):
        seen.raw = part
        return
    match getattr(part, "type", None):
        case "response.output_text.delta":
            seen.text += part.delta
        case "response.function_call_arguments.delta":
            seen.calls.append(part.delta)
        case "response.output_item.added" if part.item.type == "function_call":
            seen.calls.append(part.item.name)
        case "response.completed":
            seen.finish, seen.usage = True, bool(part.response.usage)
        case None:
            _whole(part, seen)


def _whole(made: Any, seen: Seen) -> None:
    for item in made.output or ():
        if item.type == "function_call":
            seen.calls.append(item.name + item.arguments)
        else:
            seen.text += "".join(content.text for content in item.content)
    seen.finish, seen.usage = made.status == "completed", bool(made.usage)


def message(part: Any, seen: Seen) -> None:
    """A message of Anthropic's or an event of its stream."""
    match part.type:
        case "message":
            for block in part.content or ():
                _block(block, seen)
                if block.type == "tool_use":
                    seen.calls.append(json.dumps(block.input, separators=(",", ":")))
            seen.finish, seen.usage = bool(part.stop_reason), bool(part.usage)
        case "content_block_start":
            _block(part.content_block, seen)
        case "content_block_delta":
            seen.text += getattr(part.delta, "text", "")
            seen.calls.append(getattr(part.delta, "partial_json", "").replace(": ", ":"))
        case "message_delta":
            seen.finish, seen.usage = bool(part.delta.stop_reason), bool(part.usage)


def _block(block: Any, seen: Seen) -> None:
    if block.type == "text":
        seen.text += block.text
    else:
        seen.calls.append(block.name)


def content(part: types.GenerateContentResponse, seen: Seen) -> None:
    """A response of Gemini, or one of its stream."""
    seen.usage = bool(part.usage_metadata)
    for candidate in part.candidates or ():
        for said in (candidate.content and candidate.content.parts) or ():
            seen.text += said.text or ""
            if call := said.function_call:
                seen.calls.append(f"{call.name}{json.dumps(call.args, separators=(',', ':'))}")
        seen.finish = bool(candidate.finish_reason)


def converse(part: Any, seen: Seen) -> None:
    """An answer of Bedrock's Converse or an event of its stream."""
    for block in part.get("output", {}).get("message", {}).get("content", ()):
        seen.text += block.get("text", "")
        if used := block.get("toolUse"):
            seen.calls.append(used["name"] + json.dumps(used["input"], separators=(",", ":")))
    if begun := part.get("contentBlockStart"):
        seen.calls.append(begun["start"]["toolUse"]["name"])
    delta = part.get("contentBlockDelta", {}).get("delta", {})
    seen.text += delta.get("text", "")
    seen.calls.append(delta.get("toolUse", {}).get("input", ""))
    seen.finish = seen.finish or bool(part.get("stopReason") or part.get("messageStop"))
    seen.usage = seen.usage or bool(part.get("usage") or part.get("metadata", {}).get("usage"))


@dataclass(frozen=True)
class Asked:
    """What is said to a server: a prompt, the header that asks for a fault, and how long to wait for anything."""

    prompt: str
    headers: Mapping[str, str] = field(default_factory=dict)
    patience: float = 20.0

    @property
    def messages(self) -> Any:
        """The prompt as a chat."""
        return [{"role": "user", "content": self.prompt}]

    @property
    def how(self) -> dict[str, Any]:
        """What the clients made by one generator take beside the body."""
        return {"extra_headers": dict(self.headers), "timeout": self.patience}


Ask = Callable[[Asked], Seen]
ONCE: Any = {"api_key": "k", "max_retries": 0}


@contextmanager
def _openai(server: Served, stream: bool) -> Iterator[Ask]:
    http = openai.DefaultHttpxClient(verify=False)
    with OpenAI(base_url=server.base("openai"), http_client=http, **ONCE) as client:
        yield lambda asked: _seen(chat, lambda: _chat(client, asked, stream), stream)


@contextmanager
def _crazyrouter(server: Served, stream: bool) -> Iterator[Ask]:
    http = openai.DefaultHttpxClient(verify=False)
    with Crazyrouter(base_url=server.base("crazyrouter"), http_client=http, **ONCE) as client:
        yield lambda asked: _seen(chat, lambda: _chat(client, asked, stream), stream)


def _chat(client: Any, asked: Asked, stream: bool) -> Any:
    more: Any = {"stream_options": {"include_usage": True}} if stream else {}
    return client.chat.completions.create(model="gpt-4o", messages=asked.messages, stream=stream, **asked.how, **more)


@contextmanager
def _async_openai(server: Served, stream: bool) -> Iterator[Ask]:
    with asyncio.Runner() as runner:
        http = openai.DefaultAsyncHttpxClient(verify=False)
        client = AsyncOpenAI(base_url=server.base("openai"), http_client=http, **ONCE)
        yield lambda asked: runner.run(_seen_later(client, asked, stream))
        runner.run(client.close())


@contextmanager
def _responses(server: Served, stream: bool) -> Iterator[Ask]:
    http = openai.DefaultHttpxClient(verify=False)
    with OpenAI(base_url=server.base("openai"), http_client=http, **ONCE) as client:
        create: Any = client.responses.create
        yield lambda asked: _seen(
            response, lambda: create(model="gpt-4o", input=asked.prompt, stream=stream, **asked.how), stream
        )


@contextmanager
def _azure(server: Served, stream: bool) -> Iterator[Ask]:
    with ChatCompletionsClient(server.base("azure"), AzureKeyCredential("k"), retry_total=0) as client:
        ask = lambda asked: client.complete(  # noqa: E731
            messages=[UserMessage(asked.prompt)], stream=stream, headers=asked.headers, read_timeout=asked.patience
        )
        yield lambda asked: _seen(chat, lambda: ask(asked), stream)


@contextmanager
def _fireworks(server: Served, stream: bool) -> Iterator[Ask]:
    with Fireworks(base_url=f"{server.address}/fireworks/inference", **ONCE) as client:
        create: Any = client.chat.completions.create
        yield lambda asked: _seen(
            chat, lambda: create(model="m", messages=asked.messages, stream=stream, **asked.how), stream
        )


@contextmanager
def _tzafon(server: Served, stream: bool) -> Iterator[Ask]:
    with Lightcone(base_url=f"{server.address}/tzafon", **ONCE) as client:
        create: Any = client.responses.create
        yield lambda asked: _seen(
            response, lambda: create(model="m", input=asked.prompt, stream=stream, **asked.how), False
        )


@contextmanager
def _anthropic(server: Served, stream: bool) -> Iterator[Ask]:
    with Anthropic(base_url=server.base("anthropic"), **ONCE) as client:
        create: Any = client.messages.create
        more: Any = {"model": "m", "max_tokens": 100, "stream": stream}
        yield lambda asked: _seen(message, lambda: create(messages=asked.messages, **more, **asked.how), stream)


@contextmanager
def _genai(server: Served, stream: bool) -> Iterator[Ask]:
    with genai.Client(api_key="k", http_options=types.HttpOptions(base_url=server.base("gemini"))) as client:
        create: Any = client.models.generate_content_stream if stream else client.models.generate_content

        def ask(asked: Asked) -> Any:
            http = types.HttpOptions(headers=dict(asked.headers), timeout=int(asked.patience * 1000))
            return create(model="m", contents=asked.prompt, config=types.GenerateContentConfig(http_options=http))

        yield lambda asked: _seen(content, lambda: ask(asked), stream)


@contextmanager
def _boto3(server: Served, stream: bool) -> Iterator[Ask]:
    session = boto3.Session(aws_access_key_id="k", aws_secret_access_key="k", region_name="us-east-1")
    config = Config(retries={"total_max_attempts": 1}, read_timeout=3)
    client = session.client("bedrock-runtime", endpoint_url=server.base("bedrock"), config=config)
    headers: dict[str, str] = {}
    client.meta.events.register("before-call", lambda params, **_: params["headers"].update(headers))

    def ask(asked: Asked) -> Any:
        headers.clear()
        headers.update(asked.headers)
        said = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": asked.prompt}]}]}
        return _close_after(client.converse_stream(**said)["stream"]) if stream else client.converse(**said)

    yield lambda asked: _seen(converse, lambda: ask(asked), stream)
    client.close()


def _close_after(events: Any) -> Iterator[Any]:
    with closing(events):
        yield from events


def _seen(read: Read, ask: Callable[[], Any], stream: bool) -> Seen:
    seen = Seen()
    try:
        made = ask()
        for part in made if stream else (made,):
            read(part, seen)
    except Exception as error:
        seen.raised = f"`{type(error).__name__}`"
    return seen


async def _seen_later(client: AsyncOpenAI, asked: Asked, stream: bool) -> Seen:
    seen = Seen()
    try:
        made = await _chat(client, asked, stream)
        if stream:
            async for part in made:
                chat(part, seen)
        else:
            chat(made, seen)
    except Exception as error:
        seen.raised = f"`{type(error).__name__}`"
    return seen


CLIENTS: Mapping[str, Callable[[Served, bool], AbstractContextManager[Ask]]] = {
    "`openai`, chat": _openai,
    "the same, async": _async_openai,
    "`openai`, responses": _responses,
    "`crazyrouter`": _crazyrouter,
    "`azure-ai-inference`": _azure,
    "`fireworks-ai`": _fireworks,
    "`tzafon`": _tzafon,
    "`anthropic`": _anthropic,
    "`google-genai`": _genai,
    "`boto3`": _boto3,
}
