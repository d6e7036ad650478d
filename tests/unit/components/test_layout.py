"""Where things are on a node: what no path may be."""

from __future__ import annotations

from dataclasses import fields

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.layout import Layout
from ansible_collections.winkube.node.plugins.plugin_utils.engine.powershell import TYPOGRAPHIC
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused

from .nodes import LAYOUT

GIVEN = {field.name: getattr(LAYOUT, field.name) for field in fields(Layout)}


@pytest.mark.parametrize("quote", TYPOGRAPHIC)
@pytest.mark.parametrize("name", ["state_dir", "log_dir", "containerd_config"])
def test_a_typographic_quote_is_refused(name: str, quote: str) -> None:
    """Failed before: the quote ended a string in the scheduled task's script, which SYSTEM runs."""
    with pytest.raises(Refused, match=f"node.{name}: .* holds a typographic quote, which PowerShell takes for"):
        Layout.of({**GIVEN, name: f"C:\\a{quote}; calc #"})


def test_an_apostrophe_and_letters_of_other_languages_stay() -> None:
    assert Layout.of({**GIVEN, "state_dir": "C:\\O'Brien\\\u00fc"}).state_dir == "C:\\O'Brien\\\u00fc"
