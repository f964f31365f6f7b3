"""The inspector in Debian's Chromium: a server in this process, its page, and what must hold in every test."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect, sync_playwright

from mockserver.testing import MockServer
from tests.kit.programs import find_program

PATIENCE = 20_000  # milliseconds: a busy machine is slow; what is wrong stays wrong
expect.set_options(timeout=PATIENCE)

PICTURES = Path(__file__).parents[2] / "build" / "pictures"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip
REPORT = (
    """addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective}`))"""
)
REFUSED = re.compile(r"Failed to load resource: .* status of (\d+)|Failed to load resource: net::ERR_")
RULES = """\
version: 1
settings: {seed: 7}
rules:
  - name: greeting
    when: {last_user: "*hello*"}
    then: {text: "Hello! How can I help?"}
  - name: weather
    when: {last_user: "*weather in Oslo*"}
    then: {text: "Sunny, 21 degrees."}
  - name: busy
    when: {last_user: "*order*"}
    times: 2
    then: {error: 503}
  - name: order
    when: {last_user: "*order*"}
    then: {text: "Order 42 has left. It arrives on Tuesday between nine and noon."}
  - name: result
    when: {tool_result: {text: "*"}}
    then: {text: "The weather in Oslo: 21 degrees and sunny."}
  - name: call tool
    when: {last_user: "agent*"}
    then: {tool_calls: [{name: get_weather, arguments: {city: Oslo}}]}
  - name: cut
    when: {last_user: "*tell me a story*"}
    then:
      text: "Once upon a time there was a server that answered every call in the same way, until the cable broke."
      timing: {first_token: 40ms, tokens_per_second: 80}
      faults: [{stall: {after_tokens: 4, for: 120ms}}, {cut: {after_frames: 12}}]
  - name: slow
    when: {last_user: "*slowly*"}
    then:
      text: "One word after the other, each of them late, as if there was all the time in the world for it, and more."
      timing: {first_token: 100ms, tokens_per_second: 12}
"""
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Backend:
    """A server with rules, and a client of it."""

    def __init__(self, server: MockServer, rules: Path) -> None:
        self.server, self.rules, self.base = server, rules, server.url.removesuffix("/v1")
        self.client = httpx2.Client(timeout=30, headers={"authorization": "Bearer sk-test-1234567890abcdef"})

    def post(self, path: str, body: object) -> httpx2.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(self.base + path, content=content, headers={"content-type": "application/json"})

    def chat(self, said: object, namespace: str = "", **more: object) -> Any:
        """The answer's message; None if there is none."""
        messages = said if isinstance(said, list) else [{"role": "user", "content": said}]
        front = f"/ns/{namespace}" if namespace else ""
        answer = self.post(f"{front}/v1/chat/completions", {"model": "gpt-4o", "messages": messages, **more})
        with suppress(ValueError, LookupError):
            return answer.json()["choices"][0]["message"]

    def agent(self) -> None:
        """Two calls of one conversation, the second with the result of a tool."""
        asked = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "agent, go"}]
        message = self.chat(asked, tools=[TOOL])
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": '{"temp": 21}'}
        self.chat([*asked, message, result], tools=[TOOL], temperature=0.2)

    def story(self) -> None:
        """Fourteen calls of all kinds: see the numbers in the comments."""
        self.chat("hello")  # 1
        self.chat("Tell me something about the history of Norway, please.")  # 2: generated
        for _ in range(3):
            self.chat("Where is my order?")  # 3, 4, 5: 503, 503, 200
        self.chat("What is the weather in Oslo?", stream=True)  # 6
        self.chat("What is the wether in Oslo?")  # 7: a typo
        self.agent()  # 8, 9
        with suppress(httpx2.HTTPError):
            self.chat("tell me a story <script>alert(1)</script>", stream=True)  # 10: cut short
        self.chat("hello", temperature=9)  # 11: invalid
        self.post("/v1/embeddings", {"model": "text-embedding-3-small", "input": "a b c"})  # 12
        self.chat("hello, I want my money back", namespace="test_refund")  # 13
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
        self.chat([{"role": "user", "content": [{"type": "text", "text": "What is on it?"}, image]}])  # 14

    def api(self, path: str, body: object = None) -> Any:
        url = f"{self.base}/__mockserver__/api/{path}"
        answer = self.client.get(url) if body is None else self.client.post(url, json=body)
        return answer.json()


class Inspector:
    """A tab with the inspector. Everything unusual that it does is collected, and fails the test unless allowed."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self.base = page, base
        self.wrong: list[str] = []
        self.allowed: set[str] = set()  # statuses of refusals that the test provokes; "" is no answer at all
        self.requests: list[str] = []
        page.add_init_script(REPORT)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.wrong.append(f"page error: {error}"))
        page.on("dialog", lambda dialog: (self.wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self._requested(request.url))

    def _said(self, message: ConsoleMessage) -> None:
        refused = REFUSED.match(message.text)
        if refused is None or (refused[1] or "") not in self.allowed:
            self.wrong.append(f"console: {message.text}")

    def _requested(self, url: str) -> None:
        self.requests.append(url)
        if not url.startswith((f"{self.base}/__mockserver__", f"blob:{self.base}/")):  # blobs are the page's own
            self.wrong.append(f"a request to {url}")

    def open(self, fragment: str = "#/calls") -> "Inspector":
        self.page.goto(f"{self.base}/__mockserver__/{fragment}")
        self.page.locator(".connection.live").wait_for()
        return self

    def row(self, number: int) -> Locator:
        return self.page.locator("#calls .row").filter(has=self.page.locator(f"span.number:text-is('{number}')"))

    def shows(self, fragment: str, text: str) -> None:
        """Open a view and wait for a text in it."""
        self.open(fragment)
        self.page.locator("main").get_by_text(text).filter(visible=True).first.wait_for()

    def violations(self, *rules: str) -> list[str]:
        """What axe finds, by default by all of its rules."""
        options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
        found = Axe().run(self.page, options=options).response["violations"]
        return [f"{each['id']}: {[node['html'][:200] for node in each['nodes'][:3]]}" for each in found]

    def told_by_colour_alone(self) -> list[str]:
        """What can be pressed within the view and differs from text by its colour alone."""
        script = """() => [...document.querySelectorAll("main a, main button")].filter((each) => {
          const style = getComputedStyle(each);
          const shaped = parseFloat(style.borderTopWidth) || style.textDecorationLine.includes("underline");
          return /[a-z]/i.test(each.innerText) && !shaped && !each.matches("[role=tab], .changes button");
        }).map((each) => each.outerHTML.slice(0, 120))"""
        return self.page.evaluate(script)

    def overflowing(self) -> list[str]:
        """What is wider than the page or than its pane; rows of lists end in an ellipsis, and the views can scroll."""
        script = """() => [...document.querySelectorAll("body *")].filter((each) => {
          if (each.closest(".hidden, .row, nav, textarea, option, .gutter")) return false;
          const [box, pane] = [each, each.closest(".panel, .sheet, article, main") ?? document.body]
            .map((element) => element.getBoundingClientRect());
          return box.width && box.right > Math.min(pane.right, innerWidth) + 1;
        }).slice(0, 5).map((each) => each.outerHTML.slice(0, 120))"""
        return self.page.evaluate(script)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = os.environ.get("MOCKSERVER_BROWSER") or find_program("chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture
def options() -> Mapping[str, Any]:
    """Settings of the server; tests parametrise this."""
    return {}


@pytest.fixture
def backend(tmp_path: Path, options: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    monkeypatch.chdir(tmp_path)
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES)
    with MockServer(rules, **{"unmatched": "generate", "timing": True, **options}) as server:
        found = Backend(server, rules)
        yield found
        found.client.close()


SIZES = {"wide": (1400, 860), "medium": (1000, 700), "narrow": (390, 844)}


@pytest.fixture
def open_tab(browser: Browser, backend: Backend) -> Iterator[Any]:
    """Open a tab of a size, in a theme."""
    tabs = []

    def opened(size: str = "wide", theme: Any = "light", **more: Any) -> Inspector:
        width, height = SIZES[size]
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce", **more
        )
        context.set_default_timeout(PATIENCE)
        tabs.append(Inspector(context.new_page(), backend.base))
        return tabs[-1]

    yield opened
    wrong = [words for tab in tabs for words in tab.wrong]
    for tab in tabs:
        tab.page.context.close()
    assert not wrong, wrong


@pytest.fixture
def tab(open_tab: Any) -> Inspector:
    return open_tab()
