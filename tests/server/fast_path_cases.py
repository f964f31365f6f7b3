"""Rules, texts and bodies by dialect for the tests of the fast path."""

from collections.abc import Mapping

RULES = """
version: 1
rules:
  - name: slow
    when: {last_user: "*slow*"}
    then: {text: "In a while.", timing: {first_token: 5ms}}
  - name: paced
    when: {last_user: "*paced*"}
    then: {text: "One two three four five six.", timing: {first_token: 3ms, per_token: 2ms}}
  - name: endless
    when: {last_user: "*endless*"}
    then: {text: "One two three four five six.", timing: {first_token: 10ms, per_token: 30s}}
  - name: weather
    when: {last_user: "*weather*", operation: chat}
    then: {tool_calls: [{name: get_weather, arguments: {city: Oslo}}]}
  - name: forecast
    when: {last_user: "*weather*", operation: responses}
    then: {tool_calls: [{name: get_weather, arguments: {city: Oslo}}]}
  - name: twice
    when: {last_user: "*twice*"}
    times: 2
    then: {text: "Counted."}
  - name: repeat
    when: {last_user: "*repeat*"}
    then: {text: "You said: {{ last_user }}"}
  - name: tilted
    when: {last_user: "*tilted*"}
    then: {text: "Broken.", faults: [{malformed_json: {}}]}
  - name: failing
    when: {last_user: "*failing*"}
    then: {error: {status: 500}}
  - name: polite
    when: {system: "*polite*", last_user: {regex: "thanks|please"}}
    then: {text: "With pleasure. 100 %s sure: ü"}
  - name: hello
    when: {last_user: "*hello*"}
    then: {text: "Hello! How can I help you today?", headers: {x-made-by: "50%"}}
"""
UNRULED = (
    *("tell me about tides", "tell me about boats", "What is the capital of Peru?", "List 3 colours.", "wave"),
    *("Answer in JSON with keys a and b.", "Erzähl mir etwas über Brücken.", "What is 17 * 3?", "tell me about boats"),
    *('Repeat: \\"a\\" \\u00fc \\n b', "Write a poem about ducks.", "Which of 3 and 4 is more?", "橋について教えて。"),
)
TEXTS = (
    *("hello 1", "hello there, 2", "say hello to the world, 3", "hello 4", "a weather report", "weather in Oslo?"),
    *("weather here", "twice", "twice again", "twice and again", "twice, the last", "repeat 1", "repeat 2", "repeat 3"),
    *("slow one", "slow two", "slow three", "tilted 1", "tilted 2", "tilted 3", "failing 1", "failing 2", "failing 3"),
    *("nothing that a rule knows", "nothing else", "hello ü €", 'hello \\ud83d\\ude00 \\" \\n', "thanks", "oh please"),
    *("paced one", "paced two", "paced two", "paced three", "please do"),
    *("hello " * 40, "hello " * 400, " ", "", "hello 1"),
    *UNRULED,
)
MOUNTS: Mapping[str, str] = {
    "openai": "/openai/v1/chat/completions",
    "azure_openai": "/azure-openai/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
    "azure": "/azure/chat/completions?api-version=2024-05-01-preview",
    "crazyrouter": "/crazyrouter/v1/chat/completions",
    "skytells": "/skytells/v1/chat/completions",
    "tzafon": "/tzafon/v1/chat/completions",
    "fireworks": "/fireworks/v1/chat/completions",
    "anthropic": "/anthropic/v1/messages",
    "gemini": "/gemini/v1beta/models/gemini-2.5-flash:generateContent",
    "completions": "/openai/v1/completions",
    "fireworks completions": "/fireworks/v1/completions",
    "responses": "/openai/v1/responses",
    "azure responses": "/azure-openai/openai/v1/responses",
    "turns of responses": "/openai/v1/responses?turns",
    "results of tools": "/openai/v1/chat/completions?results",
    "results of tools, strictly": "/skytells/v1/chat/completions?results",
    "embeddings": "/openai/v1/embeddings",
    "embeddings of lists": "/azure-openai/openai/v1/embeddings?lists",
    "azure embeddings": "/azure/embeddings?api-version=2024-05-01-preview",
}
GEMINI_STREAM = "/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent"
OPTIONS: Mapping[str, str] = {
    "plain": "",
    "streamed": ', "stream": true, "stream_options": {"include_usage": true}',
    "limited": ', "max_tokens": 3, "temperature": 0.5',
    "several": ', "n": 2, "seed": 7',
    "tools": ', "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]',
    "stored": ', "store": true',
    "wrong": ', "temperature": "hot"',
}
WITHOUT_SYSTEM = ("completions", "fireworks completions", "results of tools", "results of tools, strictly")
# How many of the texts are answered on the fast path, at least: equal ones, and those like two earlier ones.
ANSWERED: Mapping[tuple[str, str], int] = {
    **{("any", name): 8 for name in ("plain", "streamed", "limited", "several", "tools")},
    ("any", "stored"): 8,
    ("any", "wrong"): 0,
    **{("azure", name): 0 for name in ("streamed", "several", "stored")},  # which refuses these options
    **{(name, options): 7 for name in WITHOUT_SYSTEM for options in ("plain", "streamed", "limited", "several")},
    **{(name, options): 7 for name in WITHOUT_SYSTEM for options in ("tools", "stored")},
    **{(name, "stored"): 1 for name in ("completions", "fireworks completions")},  # whose prompts are repeated
    ("fireworks completions", "streamed"): 0,  # which knows no such option
    **{("gemini", name): 7 for name in ("plain", "streamed", "limited", "tools")},  # without a system prompt
    ("azure embeddings", "stored"): 0,  # which knows no user
    ("gemini", "several"): 0,  # log probabilities differ for each prompt
}


OTHER_OPTIONS: dict[str, Mapping[str, str]] = {
    "anthropic": {
        "plain": "",
        "streamed": ', "stream": true',
        "limited": ', "temperature": 0.5',
        "several": ', "stop_sequences": ["help"], "thinking": {"type": "enabled", "budget_tokens": 1024}',
        "tools": ', "tools": [{"name": "get_weather", "input_schema": {"type": "object"}}]',
        "stored": ', "thread": {"type": "create"}',
        "wrong": ', "top_k": "many"',
    },
    "gemini": {
        "plain": "",
        "streamed": "",
        "limited": ', "generation_config": {"maxOutputTokens": 3}',
        "several": ', "generationConfig": {"candidateCount": 2, "responseLogprobs": true}',
        "tools": ', "tools": [{"functionDeclarations": [{"name": "get_weather"}]}]',
        "stored": ', "systemInstruction": {"parts": [{"text": "Be polite"}]}',
        "wrong": ', "generationConfig": {"topK": "many"}',
    },
}
RESPONSES = {
    "plain": "",
    "streamed": ', "stream": true',
    "limited": ', "max_output_tokens": 16, "temperature": 0.5, "truncation": "auto"',
    "several": ', "store": false',
    "tools": ', "tools": [{"type": "function", "name": "get_weather", "parameters": {"type": "object"}}]',
    "stored": ', "metadata": {"a": "b"}',
    "wrong": ', "temperature": "hot"',
}
OTHER_OPTIONS |= dict.fromkeys(("responses", "azure responses", "turns of responses"), RESPONSES)
COMPLETIONS = {
    **OPTIONS,
    "tools": ', "stop": ["help"]',
    "stored": ', "echo": true',
    "limited": ', "max_tokens": 3, "user": "u"',
}
OTHER_OPTIONS |= dict.fromkeys(("completions", "fireworks completions"), COMPLETIONS)
EMBEDDINGS = {
    "plain": "",
    "streamed": ', "encoding_format": "base64"',
    "limited": ', "dimensions": 4',
    "several": ', "encoding_format": "float"',
    "tools": ', "dimensions": 300, "encoding_format": "base64"',
    "stored": ', "user": "u"',
    "wrong": ', "dimensions": "many"',
}
OTHER_OPTIONS |= dict.fromkeys(("embeddings", "embeddings of lists", "azure embeddings"), EMBEDDINGS)
CHAT = (
    '{{"model": "gpt-4o",'
    ' "messages": [{{"role": "system", "content": "Be polite."}}, {{"role": "user", "content": {0}}}]{1}}}'
)
RESULTS = (
    '{{"model": "gpt-4o", "messages": [{{"role": "user", "content": {0}}}, {{"role": "assistant", "content": null,'
    ' "tool_calls": [{{"id": "call_{2}", "type": "function", "function": {{"name": "f", "arguments": "{{}}"}}}}]}},'
    ' {{"role": "tool", "tool_call_id": "call_{2}", "content": {0}}}]{1}}}'
)
BODIES: Mapping[str, str] = {
    "anthropic": (
        '{{"model": "claude-sonnet-5-5", "max_tokens": 2000, "system": "Be polite.",'
        ' "messages": [{{"role": "user", "content": {0}}}]{1}}}'
    ),
    "gemini": '{{"contents": [{{"role": "user", "parts": [{{"text": {0}}}]}}]{1}}}',
    **dict.fromkeys(("completions", "fireworks completions"), '{{"model": "gpt-4o", "prompt": {0}{1}}}'),
    **dict.fromkeys(
        ("responses", "azure responses"), '{{"model": "gpt-4o", "instructions": "Be polite.", "input": {0}{1}}}'
    ),
    "turns of responses": (
        '{{"model": "gpt-4o", "input": [{{"role": "system", "content": "Be polite."}},'
        ' {{"role": "assistant", "content": {0}}}, {{"role": "user", "content": {0}}}]{1}}}'
    ),
    **dict.fromkeys(("results of tools", "results of tools, strictly"), RESULTS),
    "embeddings": '{{"model": "text-embedding-3-small", "input": {0}{1}}}',
    **dict.fromkeys(("embeddings of lists", "azure embeddings"), '{{"model": "embed", "input": [{0}]{1}}}'),
}


def request(path: str, text: str, options: str, body: str = CHAT) -> bytes:
    return post(path, body.format(f'"{text}"', options, len(text)).encode())


def post(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer k\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
