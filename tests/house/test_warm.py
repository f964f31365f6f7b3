"""Programs that were started beforehand do what those do that are started anew."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

COLD = Path(sys.executable).parent


@pytest.mark.parametrize(
    "command",
    [
        "python -c 'import sys; print(__name__, sys.argv, sys.path[0]); sys.exit(3)' a b",
        "python -c 'import os; print(os.getcwd(), os.environ[\"SAID\"])'",
        "echo in | python -c 'import sys; print(sys.stdin.read(), file=sys.stderr)' | cat",
        "python -c 'raise SystemExit(\"no\")'",
        "python -c 'import sys; print(\"mockserver.cli\" in sys.modules)'",
        "echo 'import sys; print(__name__, __file__, sys.argv, sys.path[0]); sys.exit(3)' > one.py && python one.py a",
        "mkdir -p in && echo 'x = 1' > in/two.py && echo 'import two; print(two.x)' > in/one.py && python in/one.py",
        "mockserver ask 'hello there' -r rules.yaml | head -1",
        "mockserver ask hello -r nowhere.yaml",
        "echo 'def test_it(mockserver): mockserver.on()' > test_it.py; pytest -q -p no:asyncio > out; head -4 out",
        "echo 'import os, sys; print(os.getcwd() in sys.path)' > test_it.py;"
        " python -m pytest -q -s -p no:asyncio > out; head -1 out",
        "rm -f said; mockserver serve rules.yaml --port 0 2> said & until grep -qs inspector said; do :; done;"
        " curl -s $(grep -o 'http://[^/]*' said | head -1) | cut -c1-22; kill $!; wait $!; echo $?",
    ],
)
def test_a_warm_program_does_what_a_cold_one_does(command: str, programs: Path, tmp_path: Path, root: Path) -> None:
    (tmp_path / "rules.yaml").write_text((root / "rules.yaml").read_text())

    def run(*folders: Path) -> tuple[int, str, str]:
        path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
        environment = {**os.environ, "PATH": path, "SAID": "é", "PYTHONPATH": str(root)}
        made = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        return made.returncode, made.stdout, made.stderr

    assert run(programs, COLD) == run(COLD)
