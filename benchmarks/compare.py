"""Compare what requests and start-up cost with the last release and with their limits: `make bench-check`.

`released.json` holds the ratios of the last release. A ratio is one server's CPU divided by another's, so the machine
hardly matters, but nothing else may run on it. A row fails if it is more than a tenth above that of the last release,
or above its limit in kinds.py, three times: one measurement is easily off by as much. If the new ratios are meant,
`python benchmarks/compare.py --write` puts the middle of three measurements into released.json, and `pytest
tests/house/test_tables.py --update` into README.md and docs/guides/load-tests.md.
"""

import json
import sys
from collections.abc import Mapping
from math import inf, nan
from pathlib import Path
from statistics import median

from kinds import LIMITS, kinds
from startup import startup

RELEASED = Path(__file__).with_name("released.json")
ALLOWED = 1.10
TRIES = 3
Measured = Mapping[str, Mapping[str, float]]


def main() -> int:
    """Compare, or write; the exit code."""
    print(f"Takes three minutes, {TRIES} times at most. Nothing else should run meanwhile.", flush=True)
    if "--write" in sys.argv[1:]:
        RELEASED.write_text(json.dumps(_middle([_measure() for _ in range(TRIES)]), indent=1) + "\n")
        return 0
    released = _ratios(json.loads(RELEASED.read_text()))
    found = _ratios(_measure())
    for _ in range(1, TRIES):
        if find_worse(found, released):
            found = {row: min(found[row], ratio) for row, ratio in _ratios(_measure()).items()}
    worse = find_worse(found, released)
    print(f"{'CPU of one / of the other':<72} {'release':>7} {'now':>7}")
    for row, ratio in found.items():
        print(f"{row:<72} {released.get(row, nan):7.2f} {ratio:7.2f} {worse.get(row, '')}")
    if worse:
        print(f"{len(worse)} of {len(found)} are too dear")
    return 1 if worse else 0


def find_worse(found: Mapping[str, float], released: Mapping[str, float]) -> Mapping[str, str]:
    """The rows that cost too much, each with the reason."""
    worse = dict[str, str]()
    for row, ratio in found.items():
        limit = LIMITS.get(row, inf)
        if ratio > limit:
            worse[row] = f"above its limit, {limit}"
        elif ratio > ALLOWED * released.get(row, ratio):
            worse[row] = "a tenth above the last release"
    return worse


def _measure() -> Measured:
    return {ask.__name__: ask() for ask in (kinds, startup)}


def _middle(runs: list[Measured]) -> Measured:
    return {
        part: {name: round(median([run[part][name] for run in runs]), 2) for name in runs[0][part]} for part in runs[0]
    }


def _ratios(measured: Measured) -> dict[str, float]:
    return {name: ratio for ratios in measured.values() for name, ratio in ratios.items() if " / " in name}


if __name__ == "__main__":
    sys.exit(main())
