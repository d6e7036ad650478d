"""`make leaks`: see the package. The last line is JSON; the exit status is 1 if a secret is shown, missing where it
belongs, or if the search does not find its canaries."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from tests.leaks import search_all


def main() -> int:
    figures, leaked = search_all()
    print("".join(f"{leak}\n" for leak in leaked), end="")
    print(json.dumps(asdict(figures)))
    whole = figures.secrets == figures.found_where_they_belong and figures.canaries == figures.canaries_found
    return 0 if whole and not figures.leaks else 1


if __name__ == "__main__":
    sys.exit(main())
