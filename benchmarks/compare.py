"""Compare what requests and start-up cost with the last release: `make bench-check`, before a release.

`released.json` holds the ratios of the last release. A ratio is one server's CPU divided by another's, so the machine
hardly matters, but nothing else may run on it. More than a tenth above one of them fails. If the new ratios are meant,
`python benchmarks/compare.py --write` puts them into released.json, and `pytest tests/house/test_tables.py --update`
into docs/guides/load-tests.md.
"""

import json
import sys
from collections.abc import Mapping
from math import nan
from pathlib import Path

from costs import costs
from startup import startup

RELEASED = Path(__file__).with_name("released.json")
ALLOWED = 1.10


def main() -> int:
    print("Takes about two minutes. Nothing else should run meanwhile.", flush=True)
    measured = {ask.__name__: {name: round(ratio, 3) for name, ratio in ask().items()} for ask in (costs, startup)}
    if "--write" in sys.argv[1:]:
        RELEASED.write_text(json.dumps(measured, indent=1) + "\n")
        return 0
    known = _ratios(json.loads(RELEASED.read_text()))
    found = _ratios(measured)
    worse = {name: ratio for name, ratio in found.items() if ratio > ALLOWED * known.get(name, ratio)}
    print(f"{'CPU of one / of the other':<60} {'release':>7} {'now':>7}")
    for name, ratio in found.items():
        print(f"{name:<60} {known.get(name, nan):7.2f} {ratio:7.2f} {'WORSE' * (name in worse)}")
    if worse:
        print(f"{len(worse)} of {len(found)} are more than a tenth above the last release; measure again to be sure")
    return 1 if worse else 0


def _ratios(measured: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    return {name: ratio for ratios in measured.values() for name, ratio in ratios.items() if " / " in name}


if __name__ == "__main__":
    sys.exit(main())
