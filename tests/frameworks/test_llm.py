"""The command `llm`: prompts, schemas and functions, with a model listed in its own file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FUNCTION = """
def get_weather(city: str) -> str:
    "Get the current weather in a city."
    return "sunny in " + city
"""


@pytest.fixture
def environment(tmp_path: Path, address: str) -> dict[str, str]:
    model = {"model_id": "mock", "model_name": "gpt-4o", "api_base": address, "supports_tools": True}
    (tmp_path / "extra-openai-models.yaml").write_text(json.dumps([{**model, "supports_schema": True}]))
    return {**os.environ, "LLM_USER_PATH": str(tmp_path)}


def llm(*arguments: str, env: dict[str, str]) -> str:
    command = [sys.executable, "-m", "llm", "-m", "mock", "--key", "any", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env, timeout=60, input="")
    return done.stdout


def test_a_prompt_is_answered(environment: dict[str, str]) -> None:
    assert llm("Reply with only: pong", env=environment) == "pong\n"


def test_an_object_has_its_schema(environment: dict[str, str]) -> None:
    out = llm("--schema", "name, age int", "Ada Lovelace is 36 years old.", env=environment)
    assert json.loads(out) == {"name": "Ada Lovelace", "age": 36}


def test_a_function_is_called_and_its_result_said(environment: dict[str, str]) -> None:
    out = llm("--functions", FUNCTION, "What is the weather in Paris?", env=environment)
    assert "sunny in Paris" in out
