"""PowerShell's own parser beside the linter's (lint/powershell.py): which texts they refuse.

What PowerShell refuses and the linter passes is a missing finding, the other way round a false one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.lint.commands import PWSH, WINDOWS_POWERSHELL

from tests.corpus import powershell
from tests.pwsh.report import FIGURES

from .source import FILES

SHELLS = (WINDOWS_POWERSHELL, PWSH)
_SIGNS = re.compile(r"""[(){}\[\]'"$@,;|&=:`]""")
_PUT_IN = ["(", ")", "{", "}", "'", '"', "$", "@", ",", ";", "|", "&", "=", "`", "\n", "&&", "if", "$(", "@{", "-eq"]


@pytest.mark.lane("pwsh")
def test_what_the_linter_reads(pwsh: str, record_property: Callable[[str, object], None]) -> None:
    found = powershell.compare(pwsh, [(script.shell, script.text) for script in powershell.collected()])
    record_property(FIGURES, {"parser": "the linter's texts", **found.figures})
    assert not found.missing + found.false, "\n".join(found.missing + found.false)


@pytest.mark.lane("pwsh")
def test_no_whole_script_is_refused(pwsh: str, record_property: Callable[[str, object], None]) -> None:
    """The node's own, which run on both; and the linter refuses none for being long or nested."""
    texts = [(shell, path.read_text(encoding="ascii")) for path in sorted(FILES) for shell in SHELLS]
    found = powershell.compare(pwsh, texts)
    record_property(FIGURES, {"parser": "whole scripts", **found.figures})
    assert found.refused_by_both == 0 and not found.missing + found.false


@pytest.mark.lane("pwsh")
def test_texts_with_a_mistake(pwsh: str, record_property: Callable[[str, object], None]) -> None:
    """Each text with a sign taken out or put in, anywhere. Few of these differ, and none is a reason to be wrong."""
    chance = random.Random(1)
    scripts = [script for script in powershell.collected() if len(script.text) > 20]
    texts = [(script.shell, _spoilt(script.text, chance)) for script in scripts for _ in range(20)]
    found = powershell.compare(pwsh, texts)
    record_property(FIGURES, {"parser": "spoilt texts", **found.figures})
    print(*found.missing, *found.false, sep="\n")
    assert len(found.missing) + len(found.false) <= len(texts) // 50


def _spoilt(text: str, chance: random.Random) -> str:
    signs = [found.start() for found in _SIGNS.finditer(text)]
    if signs and chance.random() < 0.5:
        place = chance.choice(signs)
        return text[:place] + text[place + 1 :]
    place = chance.randrange(len(text))
    return text[:place] + chance.choice(_PUT_IN) + text[place:]
