"""The lines of a batch's input file: which are read, and what is said of those that are wrong."""

from unittest.mock import Mock

import pytest

from mockserver.dialects._openai_api.objects import batches, files
from mockserver.dialects._openai_api.objects.files import read_rows


def test_only_as_many_lines_are_read_as_a_batch_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Mock(wraps=files.read_json)
    monkeypatch.setattr(files, "read_json", read)
    monkeypatch.setattr(batches, "MAX_LINES", 9)
    rows = read_rows(b"{bad\n" * 1_000_000, batches.MAX_LINES + 1)
    assert (len(rows), read.call_count) == (10, 10)
    mistakes = batches.find_mistakes(rows, "/v1/chat/completions")
    assert [mistake["code"] for mistake in mistakes] == ["too_many_tasks", *["invalid_json_line"] * 10]


def test_lines_are_numbered_as_an_editor_numbers_them() -> None:
    rows = read_rows(b'\n{"a": 1}\r\n\n  \n{bad\n[2]', 10)
    assert [(row.number, row.value) for row in rows] == [(2, {"a": 1}), (5, None), (6, [2])]
    mistakes = batches.find_mistakes(rows, "/v1/chat/completions")
    assert [mistake["line"] for mistake in mistakes] == [2, 5, 6]
