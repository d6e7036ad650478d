"""`make doors`: the last line is one JSON object; exit status 1 unless all of its zeros are zero.

python -m tests.doors [--every 1]
"""

from __future__ import annotations

import argparse
import sys

from tests.doors import Bench, Count, attack_answers, attack_cluster_reading, attack_objects, attack_readings


def main() -> int:
    parser = argparse.ArgumentParser(prog="make doors", description="lies in the answers of nodes and clusters")
    parser.add_argument("--every", type=int, default=1, help="of the lies in readings only each of so many")
    options = parser.parse_args()
    bench, count = Bench(), Count()
    attack_answers(count)
    attack_cluster_reading(count)
    attack_readings(bench, count, options.every)
    attack_objects(bench, count)
    for line in count.told[:200]:
        print(line, file=sys.stderr)
    print(count.line())
    return 0 if count.clean else 1


if __name__ == "__main__":
    sys.exit(main())
