"""The recording of the demo in README: drawn by tests/demo/recording.py, of the demo as it is now."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.demo import recording
from tests.demo.recording import COLUMNS, PICTURE, ROOT, Line

TEXT = "{http://www.w3.org/2000/svg}text"
DEMO = ast.parse((ROOT / "tests" / "demo" / "__main__.py").read_text(encoding="utf-8"))
NEW = "tests/demo changed: run `make recording`"


def calls(name: str) -> list[ast.Call]:
    """The calls of one of the demo's functions, in the order of the source."""
    found = [node for node in ast.walk(DEMO) if isinstance(node, ast.Call)]
    return sorted((each for each in found if getattr(each.func, "id", "") == name), key=lambda each: each.lineno)


def shown() -> list[str]:
    root = ElementTree.fromstring(PICTURE.read_text(encoding="utf-8"))
    return [each.text or "" for each in root.iter(TEXT)][1:]


def test_the_picture_has_every_step_of_the_demo_and_no_other() -> None:
    steps = [f"# {ast.literal_eval(call.args[0])}"[:COLUMNS] for call in calls("say")]
    assert len(steps) > 8
    assert sorted(text for text in shown() if text.startswith("# ")) == sorted(steps), NEW


def test_the_picture_has_every_command_of_the_demo() -> None:
    programs = [ast.literal_eval(call.args[1]) for call in calls("run") if isinstance(call.args[1], ast.Constant)]
    typed = [text for text in shown() if text.startswith("$ ")]
    assert len(typed) == len(programs) + 2, NEW  # both runs for the two whole nodes have one list of words
    assert {text.split()[1] for text in typed} == {"ansible-playbook", "ansible-inventory"}


def test_the_picture_is_text_without_a_script_and_without_a_path_of_the_machine_that_recorded_it() -> None:
    text = PICTURE.read_text(encoding="utf-8")
    assert re.search(r"<script|href|on\w+=|/tmp/|/home/", text) is None and str(ROOT) not in text
    assert "PLAY RECAP" in text and "prefers-reduced-motion" in text


def test_a_long_wait_is_cut_and_a_quick_line_can_be_read() -> None:
    lines = [Line(0.0, "a"), Line(0.001, "b"), Line(60.0, "c")]
    assert recording.moments(lines) == pytest.approx([0.12, 0.24, 1.44])


def test_what_is_shown_fits_and_names_no_folder_of_the_machine() -> None:
    lines = [
        Line(0, "/tmp/wkab12/lab/sums"),
        Line(0, ""),
        Line(0, ""),
        Line(0, f"[WARNING]: no key {Path.home()}/.ssh/key"),
        Line(1, f"PLAY [x] {'*' * 60}"),
        Line(2, "y" * 200),
    ]
    texts = [line.text for line in recording.folded(recording.told(lines))]
    assert texts == ["lab/sums", "", "PLAY [x] ***", "y" * COLUMNS, "y" * (200 - COLUMNS)]
