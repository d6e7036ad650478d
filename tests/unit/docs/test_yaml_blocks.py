"""What readers copy: each YAML block of a page is YAML, and its variables and options are those that there are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.winkube.node.plugins.plugin_utils.task import variables
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import load_spec

ROOT = Path(__file__).resolve().parents[3]
PAGES = (
    ROOT / "README.md",
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("roles/*/README.md"),
    *ROOT.glob("examples/**/*.md"),
)
BLOCK = re.compile(r"^( *)```ya?ml\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
TEMPLATE = re.compile(r"\{\{|\{%")


@dataclass(frozen=True)
class Block:
    """One block: its page and line, and its text."""

    where: str
    text: str

    @property
    def documents(self) -> list[Any]:
        return list(yaml.load_all(self.text, Loader))


class Loader(yaml.SafeLoader):
    """Ansible's `!vault` and `!unsafe` are texts here."""


for tag in ("!vault", "!unsafe"):
    Loader.add_constructor(tag, lambda loader, node: loader.construct_scalar(cast(yaml.ScalarNode, node)))


def blocks() -> Iterator[Block]:
    for page in sorted(PAGES):
        text = page.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 2
            lines = (each.removeprefix(match[1]) for each in match[2].splitlines())
            yield Block(f"{page.relative_to(ROOT)}:{line}", "\n".join(lines) + "\n")


def mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every mapping in it, the outermost first."""
    if isinstance(value, Mapping):
        yield value
        for each in value.values():
            yield from mappings(each)
    elif isinstance(value, list):
        for each in value:
            yield from mappings(each)


def has_template(value: Any) -> bool:
    return bool(TEMPLATE.search(str(value)))


BLOCKS = list(blocks())


def test_there_are_blocks() -> None:
    assert len(BLOCKS) > 100


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.where)
def test_a_block_is_yaml_whose_variables_and_options_there_are(block: Block) -> None:
    for document in block.documents:
        for found in mappings(document):
            given = {name: value for name, value in found.items() if str(name).startswith(variables.PREFIX)}
            assert not variables.find_unknown(given)
            plain = {name: value for name, value in given.items() if not has_template(value)}
            assert not variables.find_wrong(plain, plain.__getitem__)
            for name, arguments in found.items():
                if str(name).startswith("winkube.node.") and isinstance(arguments, Mapping):
                    check_options(str(name).rpartition(".")[2], arguments)


def check_options(module: str, arguments: Mapping[str, Any]) -> None:
    """Each option is one of the module's; what is required may come from module_defaults."""
    if not (ROOT / "plugins" / "modules" / f"{module}.py").is_file():
        return
    spec = load_spec(module)
    known = {name: {key: value for key, value in each.items() if key != "required"} for name, each in spec.items()}
    plain = {name: value for name, value in arguments.items() if not has_template(value)}
    assert set(arguments) <= set(known), f"{module} has no {', '.join(sorted(set(arguments) - set(known)))}"
    assert not ArgumentSpecValidator(known).validate(plain).error_messages
