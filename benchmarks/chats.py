"""Requests to each API, as bytes for a socket; further fields of a body are given by name."""

import json
from collections.abc import Callable, Mapping
from itertools import islice, product

from load import post

SYSTEM = {"role": "system", "content": "You are a helpful assistant."}
INSTRUCTIONS = "You help the customers of a shop. Be kind, be short, and never promise what you cannot know. " * 86
CLAUDE = "anthropic.claude-sonnet-4-5-20250929-v1%3A0"  # as boto3 writes it in a path
PIXELS = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def converse(*messages: Mapping[str, object], path: str = "/v1/chat/completions", **more: object) -> bytes:
    """Ask the model `gpt-4o` to go on with these messages."""
    return post(path, json.dumps({"model": "gpt-4o", "messages": messages, **more}).encode())


def user(text: str, **more: object) -> Mapping[str, object]:
    """A message of the user."""
    return {"role": "user", "content": text, **more}


def chat(text: str, *, path: str = "/v1/chat/completions", **more: object) -> bytes:
    """Ask for a chat with the usual instruction."""
    return converse(SYSTEM, user(text), path=path, **more)


def chat_from(origin: str, text: str) -> bytes:
    """Ask for a chat as a web page of this origin does."""
    body = {"model": "gpt-4o", "messages": [SYSTEM, user(text)]}
    return post("/v1/chat/completions", json.dumps(body).encode(), origin=origin)


def chat_at(path: str) -> Callable[..., bytes]:
    """Make chats for another dialect that speaks OpenAI's language."""
    return lambda text, **more: chat(text, path=path, **more)


def complete(text: str, *, path: str, **more: object) -> bytes:
    """Ask for the completion of a text."""
    return post(path, json.dumps({"model": "gpt-4o", "prompt": text, **more}).encode())


def ask_responses(text: str, **more: object) -> bytes:
    """Ask OpenAI's Responses API."""
    body = {"model": "gpt-4o", "instructions": SYSTEM["content"], "input": text, **more}
    return post("/v1/responses", json.dumps(body).encode())


def ask_anthropic(text: str, **more: object) -> bytes:
    """Ask Anthropic's API."""
    body = {"model": "claude-sonnet-4-5", "max_tokens": 500, "system": SYSTEM["content"], "messages": [user(text)]}
    return post("/v1/messages", json.dumps({**body, **more}).encode(), **{"anthropic-version": "2023-06-01"})


def ask_bedrock(text: str, *, stream: bool = False) -> bytes:
    """Ask Bedrock's Converse."""
    said = {"role": "user", "content": [{"text": text}]}
    body = {"messages": [said], "system": [{"text": SYSTEM["content"]}], "inferenceConfig": {"maxTokens": 500}}
    return post(f"/bedrock/model/{CLAUDE}/{'converse-stream' if stream else 'converse'}", json.dumps(body).encode())


def invoke_claude(text: str, *, stream: bool = False) -> bytes:
    """Ask Claude by Bedrock's InvokeModel."""
    body = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 500, "system": SYSTEM["content"]}
    verb = "invoke-with-response-stream" if stream else "invoke"
    return post(f"/bedrock/model/{CLAUDE}/{verb}", json.dumps({**body, "messages": [user(text)]}).encode())


def ask_cohere(text: str, **more: object) -> bytes:
    """Ask Cohere's API."""
    body = {"model": "command-a-03-2025", "messages": [SYSTEM, user(text)], "stream": False}
    return post("/cohere/v2/chat", json.dumps({**body, **more}).encode())


def ask_gemini(text: str, *, stream: bool = False) -> bytes:
    """Ask Gemini's API."""
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    said, system = ({"parts": [{"text": each}]} for each in (text, SYSTEM["content"]))
    body = {"contents": [{"role": "user", **said}], "systemInstruction": system}
    path = f"/gemini/v1beta/models/gemini-2.5-flash:{method}"
    return post(path, json.dumps(body).encode(), **{"x-goog-api-key": "sk-test"})


def ask_ollama(text: str, *, stream: bool = False) -> bytes:
    """Ask Ollama's own API."""
    return converse(SYSTEM, user(text), path="/ollama/api/chat", stream=stream)


def embed(text: str) -> bytes:
    """Ask for an embedding of 1,536 dimensions, in base64 as OpenAI's client does."""
    body = {"model": "text-embedding-3-small", "input": text, "encoding_format": "base64"}
    return post("/v1/embeddings", json.dumps(body).encode())


def ask_for_weather(text: str, *, others: int = 1) -> bytes:
    """Ask for the weather, with a tool for it among others."""
    verbs = ("update", "delete", "list", "archive", "export")
    things = ("invoice", "contract", "parcel", "ticket", "address", "payment", "mailbox", "photo", "device", "backup")
    names = (f"{verb}_{thing}" for verb, thing in islice(product(verbs, things), others))
    return chat(text, tools=[*map(offer, names), offer("get_weather")])


def extract_person(text: str) -> bytes:
    """Ask for an object of five properties that the text mentions."""
    kinds = {"name": "string", "age": "integer", "city": "string", "customer_number": "integer", "is_member": "boolean"}
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in kinds.items()},
        "required": [*kinds],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": schema}}
    return chat(f"Extract the person: {text}", response_format=form)


def show_picture(text: str) -> bytes:
    """Ask about a small picture."""
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXELS}"}}
    return converse(SYSTEM, {"role": "user", "content": [{"type": "text", "text": text}, picture]})


def instruct_at_length(text: str) -> bytes:
    """Ask for a chat after 8 kB of instructions, which are the same each time."""
    return converse({"role": "system", "content": INSTRUCTIONS[:8_000]}, user(text))


def answer_first_question(text: str) -> bytes:
    """Go on with a script, of which one answer is there."""
    return converse(SYSTEM, user("begin"), {"role": "assistant", "content": "What is your name?"}, user(text))


def go_on_as_agent(text: str, *, mark: str = "") -> bytes:
    """Go on after eight calls of a tool: the 20th message has the text, and the mark stands in those before it."""
    messages = [SYSTEM, user(f"Where are my orders?{mark}")]
    for number in range(8):
        function = {"name": "get_order", "arguments": f'{{"number": "{1000 + number}{mark}"}}'}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        result = f'{{"place": "on a ship near Bergen{mark}", "arrives": "in {number + 2} days", "weight": 12.5}}'
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": result})
    messages.append({"role": "assistant", "content": f"All of them are on a ship near Bergen.{mark}"})
    return converse(*messages, user(text), tools=[offer(name) for name in ("get_order", "cancel_order", "get_weather")])


def offer(name: str) -> Mapping[str, object]:
    """A tool as a client offers it."""
    number = {"type": "string", "description": "The number of the order, as it stands on the bill."}
    city = {"type": "string", "description": "The city, such as Oslo."}
    unit = {"type": "string", "enum": ["celsius", "fahrenheit"]}
    weather = {"type": "object", "properties": {"city": city, "unit": unit}, "required": ["city"]}
    order = {"type": "object", "properties": {"number": number}, "required": ["number"]}
    about = "Looks it up, and tells what is known about it and when it changes."
    parameters = weather if name == "get_weather" else order
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}
