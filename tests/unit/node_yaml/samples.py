"""The documents' sample, corrected, and ways to spoil it."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml import document, variables
from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml.tree import Mapping

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "tests" / "fixtures" / "node_yaml"
SAMPLE = (ROOT / "examples" / "swdt" / "sample.yml").read_text(encoding="utf-8")
WHOLE = (ROOT / "examples" / "whole-node" / "win1.yml").read_text(encoding="utf-8")
PLACE = variables.Place("node.yml", "/srv/nodes", "/srv/ann")


def edited(*changes: tuple[str, str], text: str = SAMPLE) -> str:
    """The text with each `old` replaced by `new`, once; an `old` that is not there fails the test."""
    for old, new in changes:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    return text


def said(text: str) -> list[str]:
    """What is wrong with a text, as the plugin prints it."""
    return [problem.locate("node.yml") for problem in document.read(text).problems]


def the(text: str) -> str:
    """The one sentence about a text."""
    lines = said(text)
    assert len(lines) == 1, lines
    return lines[0]


def node(text: str) -> Mapping:
    """The one valid node of a text."""
    file = document.read(text)
    assert file.problems == ()
    assert len(file.nodes) == 1
    return file.nodes[0]


def host(text: str) -> variables.Host:
    return variables.host(node(text), PLACE)


def effective(text: str) -> dict[str, object]:
    """The variables that Ansible would see: defaults of groups under those of the host."""
    made = host(text)
    merged: dict[str, object] = {}
    for group in made.groups:
        merged |= group.variables
    return merged | made.variables
