"""`make pairs`: what symilar prints, read as pairs."""

from __future__ import annotations

from tests.quality.pairs import Pair, read

SAID = """
6 similar lines in 2 files
==plugins/a.py:[10:16]
==plugins/b.py:[0:6]
   x = 1

9 similar lines in 3 files
==plugins/a.py:[20:29]
==plugins/b.py:[30:39]
==plugins/c.py:[1:10]
   y = 2
TOTAL lines=100 duplicates=30 percent=30.00
"""


def test_three_places_are_three_pairs_and_the_longest_come_first() -> None:
    assert read(SAID) == [
        Pair(9, "plugins/a.py:21-29", "plugins/b.py:31-39"),
        Pair(9, "plugins/a.py:21-29", "plugins/c.py:2-10"),
        Pair(9, "plugins/b.py:31-39", "plugins/c.py:2-10"),
        Pair(6, "plugins/a.py:11-16", "plugins/b.py:1-6"),
    ]
    assert read("TOTAL lines=0 duplicates=0 percent=0.00") == []
