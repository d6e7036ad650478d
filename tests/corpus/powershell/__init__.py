"""PowerShell texts that the linter reads as such, and what PowerShell's own parser says of them.

texts.yml   commands as people write them, right and wrong
parse.ps1   asks the parser
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint.commands import (
    PWSH,
    WINDOWS_POWERSHELL,
    Script,
    expanded,
    scripts,
)
from ansible_collections.winkube.node.plugins.plugin_utils.lint.powershell import read

from tests import yaml_text
from tests.corpus.facts import object_of

HERE = Path(__file__).resolve().parent
OWN = HERE / "texts.yml"
CORPUS = HERE.parent
FIXTURES = HERE.parents[1] / "fixtures" / "lint"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the parser says: `errors` by its ids, as `id: what stands there`; `newer` are the operators that only
    PowerShell 7 reads."""

    errors: tuple[str, ...]
    newer: tuple[str, ...]

    def refused(self, shell: str) -> bool:
        """Whether that shell runs nothing of it."""
        return bool(self.errors or (self.newer and shell == WINDOWS_POWERSHELL))


def collected() -> dict[Script, str]:
    """Each PowerShell script of the fixtures, the frozen and learnt sets, the facts and texts.yml: where it is from."""
    found: dict[Script, str] = {}
    for source, value in _values():
        for words, host_process in _commands(value, host_process=False):
            for script in scripts(expanded(words), host_process):
                if script.powershell:
                    found.setdefault(script, source)
    return found


def _values() -> Iterator[tuple[str, Any]]:
    for path in sorted(FIXTURES.rglob("*.yml")):
        yield path.name, path.read_text(encoding="utf-8")
    for path in (CORPUS / "planted.yml", CORPUS / "frozen" / "planted.yml", *sorted((CORPUS / "values").glob("*.yml"))):
        for entry in yaml_text.load_file(path):
            yield path.name, entry
    for path in (CORPUS / "manifests.jsonl", CORPUS / "frozen" / "manifests.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            yield entry["from"], [object_of(each) for each in entry["objects"]]
    yield OWN.name, yaml_text.load_file(OWN)


def _commands(value: Any, host_process: bool) -> Iterator[tuple[list[str], bool]]:
    """(words, whether of a HostProcess pod) of each command below a value, with the args beside it."""
    if isinstance(value, str) and "command:" in value:
        # A manifest within a manifest; some are broken on purpose.
        with contextlib.suppress(yaml.YAMLError):
            value = list(yaml_text.load_all(value))
    if isinstance(value, Mapping):
        options = (value.get("securityContext") or {}) if isinstance(value.get("securityContext"), Mapping) else {}
        host_process = host_process or bool((options.get("windowsOptions") or {}).get("hostProcess"))
        command, args = value.get("command"), value.get("args")
        if isinstance(command, list):
            yield [str(word) for word in [*command, *(args if isinstance(args, list) else [])]], host_process
    for inner in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _commands(inner, host_process)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`missing`: texts that PowerShell refuses and the linter passes; `false`: the other way round; a sentence each."""

    texts: int
    refused_by_both: int
    missing: tuple[str, ...]
    false: tuple[str, ...]

    @property
    def figures(self) -> dict[str, int]:
        return {
            "texts": self.texts,
            "refused_by_both": self.refused_by_both,
            "missing": len(self.missing),
            "false": len(self.false),
        }


def compare(pwsh: str, texts: Sequence[tuple[str, str]]) -> Comparison:
    """Of (shell, text) each."""
    both, missing, false = 0, list[str](), list[str]()
    for (shell, text), answer in zip(texts, ask(pwsh, [text for _shell, text in texts]), strict=True):
        refusal = read(text, shell == PWSH)[1]
        if answer.refused(shell) and refusal:
            both += 1
        elif answer.refused(shell):
            missing.append(f"{shell} refuses {text!r}: {answer}")
        elif refusal:
            false.append(f"{shell} runs {text!r}: {refusal}")
    return Comparison(len(texts), both, tuple(missing), tuple(false))


def ask(pwsh: str, texts: Sequence[str]) -> list[Answer]:
    """One process for all of them."""
    command = [pwsh, "-NoProfile", "-NonInteractive", "-File", str(HERE / "parse.ps1")]
    done = subprocess.run(command, input=json.dumps(texts).encode(), capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{pwsh} ended with {done.returncode}: {done.stderr.decode()[-500:]}")
    return [
        Answer(
            tuple(f"{error['id']}: {error['text']}" for error in answer["errors"] if error["id"] not in _OF_THIS_HOST),
            tuple(answer["newer"]),
        )
        for answer in json.loads(done.stdout)
    ]


# What hangs on the system and the release that it runs on: 5.1 has workflows, and Windows more types.
_OF_THIS_HOST = ("TypeNotFound", "WorkflowNotSupportedInPowerShellCore")
