"""Anthropic's client before its version 2, which sends the older API version; `make setup` installs it to the side."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mockserver.testing import MockServer

pytestmark = pytest.mark.slow

PREVIOUS = Path(sys.prefix) / "previous"
SCRIPT = """
import anthropic
client = anthropic.Anthropic(max_retries=0)
asked = {"model": "claude-sonnet-4-6", "max_tokens": 99, "messages": [{"role": "user", "content": "Hello"}]}
print(anthropic.__version__)
print(client.messages.create(**asked, temperature=0.5, top_k=5).content[0].text)
for messages, more in ((client.messages, {}), (client.beta.messages, {"betas": ["x"]})):
    with messages.stream(**asked, **more) as stream:
        print(stream.get_final_message().stop_reason)
prompt = "\\n\\nHuman: Hello\\n\\nAssistant:"
old = {"model": "claude-2", "prompt": prompt, "max_tokens_to_sample": 99}
print(client.completions.create(**old).completion)
print("".join(piece.completion for piece in client.completions.create(**old, stream=True)))
try:
    client.messages.create(**{**asked, "messages": []})
except anthropic.BadRequestError as error:
    print(error.body["error"]["message"])
"""


def test_the_older_client(tmp_path: Path) -> None:
    assert (PREVIOUS / "anthropic").is_dir(), "there is no older client: run `make setup`"
    with MockServer() as server:
        server.on("Hello").reply("Hi!")
        environment = {**os.environ, **server.env, "PYTHONPATH": str(PREVIOUS)}
        command = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    version, *said = done.stdout.splitlines()
    assert int(version.partition(".")[0]) < 2
    assert said == ["Hi!", "end_turn", "end_turn", "Hi!", "Hi!", "messages: at least one message is required"]
