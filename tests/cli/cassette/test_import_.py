"""`mockserver cassette import`: what is taken, what is left, what is told."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from mockserver.testing.setup import name_cassette
from tests.cassettes.convert.kit import ANSWER, interaction
from tests.cli.cassette.conftest import Place


def vcr(*rows: Any, name: str = "test_chat[gpt-4o].yaml") -> Path:
    file = Path(name)
    file.write_text(json.dumps({"interactions": rows, "version": 1}))
    return file


def test_a_cassette_of_vcrpy(place: Place) -> None:
    secret = {"headers": {"Authorization": ["Bearer sk-abcdefghijklmnop"], "content-type": ["application/json"]}}
    file = vcr(interaction(request=secret), interaction(request={"uri": "https://api.openai.com/v1/vaults"}))
    ran = place.run("import", file)
    assert ran.code == 1
    assert ran.out == "cassettes/test_chat[gpt-4o].yaml: 1 episode from test_chat[gpt-4o].yaml\n"
    assert ran.err == f"skipped {file}: interaction 2: openai has no POST /v1/vaults\n"
    (taken,) = place.episodes("test_chat[gpt-4o]")
    assert "authorization" not in dict(taken.request.headers)
    assert b"sk-abcdefghijklmnop" not in (place.folder / file.name).read_bytes()
    again = place.run("import", file)
    assert again.out == ("cassettes/test_chat[gpt-4o].yaml: 0 episodes from test_chat[gpt-4o].yaml; 1 already there\n")


PICTURE = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
PAINTED = {"candidates": [{"content": {"parts": [PICTURE]}, "finishReason": "STOP"}]}


@pytest.mark.parametrize(
    ("uri", "asked", "answer", "operation"),
    [
        (
            "https://bedrock-runtime.<aws_region>.amazonaws.com/model/amazon.titan-embed-text-v2:0/invoke",
            {"inputText": "a"},
            {"embedding": [0.5], "inputTextTokenCount": 1},
            "embeddings",
        ),
        (
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash-image:generateContent",
            {"contents": [{"parts": [{"text": "A cat"}]}]},
            PAINTED,
            "images",
        ),
    ],
)
def test_the_operation_is_that_of_the_call(place: Place, uri: str, asked: Any, answer: Any, operation: str) -> None:
    """Where one path serves several; the host may be filtered."""
    row = interaction(request={"uri": uri, "body": json.dumps(asked)}, body={"string": json.dumps(answer)})
    assert place.run("import", vcr(row, name="a.json")).code == 0
    assert [each.operation for each in place.episodes("a")] == [operation]
    assert place.run("verify", "a").code == 0


def test_a_path_of_another_dialect_at_the_same_address_is_skipped(place: Place) -> None:
    ran = place.run("import", vcr(interaction(request={"uri": "https://a.openai.azure.com/chat/completions"})))
    assert ran.code == 2
    assert "azure_openai has no POST /azure/chat/completions" in ran.err


def test_several_files_into_one(place: Place) -> None:
    other = {**ANSWER, "id": "other"}
    files = vcr(interaction(), name="a.json"), vcr(interaction(body={"string": json.dumps(other)}), name="b.json")
    bad = Path("c.json")
    bad.write_text("{")
    ran = place.run("import", *files, bad, "none.har", "--into", "all")
    assert (ran.code, ran.err) == (1, "")
    assert len(place.episodes("all")) == 2
    assert ran.out == (
        "imported  skipped  file      cassette  why\n"
        "       1        0  a.json    all\n"
        "       1        0  b.json    all\n"
        "       0        1  c.json    -         1:2: the file breaks off in the middle of its JSON: restore it, or "
        "record it again\n"
        "       0        1  none.har  -         cannot be read: No such file or directory; check its path\n"
        "4 files: 2 episodes imported, 2 skipped\n"
    )


def test_a_folder_ends_with_a_table(place: Place) -> None:
    paths = ("vaults", "vaults", "agents")
    lost = [interaction(request={"uri": f"https://api.openai.com/v1/{path}"}) for path in paths]
    far = interaction(request={"uri": "https://cdn.com/a"})
    Path("tapes/test_chat").mkdir(parents=True)
    Path("tapes/.git").mkdir()
    vcr(interaction(), *lost, far, name="tapes/test_chat/test_it.yaml")
    vcr(interaction(), name="tapes/test_it.yml")
    vcr(far, name="tapes/test_far.json")
    for left_out in ("tapes/.git/a.yaml", "tapes/notes.txt"):
        Path(left_out).write_text("?")
    ran = place.run("import", "tapes")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out == (
        "imported  skipped  file                    cassette           why\n"
        "       1        4  test_chat/test_it.yaml  test_chat/test_it  interaction 2, 3: openai has no POST "
        "/v1/vaults\n"
        "                                                              interaction 4: openai has no POST /v1/agents\n"
        "                                                              1 request to unknown hosts (cdn.com); set their "
        "dialect with --dialect\n"
        "       0        1  test_far.json           -                  1 request to unknown hosts (cdn.com); set their "
        "dialect with --dialect\n"
        "       1        0  test_it.yml             test_it\n"
        "3 files: 2 episodes imported, 5 skipped\n"
    )
    assert place.run("import", "tapes").out.endswith("\n3 files: 0 episodes imported, 5 skipped\n")
    Path("empty").mkdir()
    ran = place.run("import", "empty")
    assert ran.code == 2
    assert ran.err.startswith("mockserver: empty: this folder has no files that end in .yaml, .yml, .json, .har, ")


@pytest.mark.parametrize(
    "name",
    ["test_x[Say hello!-str].yaml", "test_x[what?].json", "test_x[a:b].yml", "test_x[ß→é].yaml", "x" * 240 + ".yaml"],
)
def test_a_file_with_any_name_gets_the_cassette_of_its_test(place: Place, name: str) -> None:
    ran = place.run("import", vcr(interaction(), name=name))
    assert ran.code == 0
    (kept,) = place.folder.glob("*.yaml")
    assert kept.stem == name_cassette([Path(name).stem])
    assert len(place.episodes(kept.stem)) == 1


def test_no_two_files_share_a_cassette(place: Place) -> None:
    for folder in ("one", "two"):
        Path(folder).mkdir()
    names = ["one/a.yaml", "two/a.yaml", "one/A.json", "one/a!.yaml", "one/a?.yaml", "one/b.yaml"]
    files = [vcr(interaction(), name=name) for name in names]
    ran = place.run("import", *files)
    assert ran.code == 0
    kept = sorted(path.stem for path in place.folder.glob("*.yaml"))
    assert (len(kept), kept[-1]) == (len(names), "b")
    assert all(f"  {name}" in ran.out for name in kept)
    assert place.run("import", *reversed(files)).out.count("1 already there") == len(names)
    typed = [f"./{name}" for name in names] + [str(Path(name).resolve()) for name in names]
    for again in (typed[: len(names)], typed[len(names) :]):
        assert place.run("import", *again).out.count("1 already there") == len(names)


def test_standard_input_wants_a_name(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    class Input(io.TextIOWrapper):
        """Bytes, as a pipe has them."""

    def feed() -> None:
        data = json.dumps({"interactions": [interaction()]}).encode()
        monkeypatch.setattr("sys.stdin", Input(io.BytesIO(data), encoding="utf-8"))

    feed()
    assert place.run("import", "-").err.startswith("mockserver: standard input needs a cassette name: add --into NAME")
    feed()
    assert place.run("import", "-", "--into", "piped").code == 0
    assert len(place.episodes("piped")) == 1


def test_hosts_of_strangers_are_told_together(place: Place) -> None:
    rows = [interaction(request={"uri": f"https://{host}/a"}) for host in ("cdn.com", "cdn.com", "x.com")]
    ran = place.run("import", vcr(*rows, interaction()))
    assert (ran.code, ran.err) == (
        0,
        "skipped 3 requests to unknown hosts (cdn.com, x.com); set their dialect with --dialect\n",
    )
    assert place.run("import", vcr(*rows)).code == 2


def test_what_looks_like_a_secret_is_left_out(place: Place) -> None:
    row = interaction(body={"string": json.dumps({**ANSWER, "note": "AKIAQ7X4WJ5NZ3RTB6KD"})})
    ran = place.run("import", vcr(row))
    assert ran.code == 2
    assert ran.err.startswith("skipped test_chat[gpt-4o].yaml: interaction 1: ")
    assert "looks like a secret" in ran.err
    assert ran.err.endswith("\ntest_chat[gpt-4o].yaml: no episode for cassettes/test_chat[gpt-4o].yaml\n")
    assert (ran.out, place.folder.exists()) == ("", False)


def test_a_dialect_that_is_none(place: Place) -> None:
    ran = place.run("import", vcr(interaction()), "--dialect", "opnai")
    assert (ran.code, ran.err.startswith('mockserver: unknown dialect "opnai"; known: anthropic,')) == (2, True)
