"""`make redaction`: forms that still show their secret, harmless texts that were changed; the last line is JSON.

forms.yml: `rules`, identities of a public scanner's rules with the form of a value, and `forms`, texts of our own.
frozen.yml was collected after the rules stood, and no rule is mended on it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from tests.redaction.score import FORMS, FROZEN, of

WANTED = 0.98
LEAST = 200


def main() -> int:
    """Exit status 1 if fewer forms are redacted than the page promises, or a harmless text was changed."""
    open_part, frozen = of(FORMS), of(FROZEN)
    for name, score in (("open", open_part), ("frozen", frozen)):
        for title, found in (("still shows its secret", score.shown), ("was changed", score.changed)):
            print("".join(f"{name}: {title}: {one}\n" for one in found), end="")
    figures: Mapping[str, Any] = {**open_part.figures(), "frozen": frozen.figures()}
    print(json.dumps(figures))
    good = open_part.forms >= LEAST and open_part.redacted >= WANTED * open_part.forms and not open_part.changed
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
