"""Go modules by the go command, which asks the module proxy and keeps what it gets."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version, VersionError


class ModuleMissing(SystemExit):
    """The module, or this version of it, cannot be had; the sentence ends a program that does without it in no way."""


def download(module: str, what: str = "Dir") -> Path:
    """The folder of `module@version`, or with "Zip" its archive. go also says what it cannot use: a module that wants a
    newer Go is there all the same. ModuleMissing."""
    asked = subprocess.run(["go", "mod", "download", "-json", module], capture_output=True, text=True, check=False)
    told = json.loads(asked.stdout or "{}")
    if what not in told:
        raise ModuleMissing(f"{module} cannot be had: {told.get('Error') or asked.stderr.strip()}")
    return Path(told[what])


def list_versions(module: str) -> tuple[Version, ...]:
    """What the proxy lists of a module; nothing where it has none."""
    asked = subprocess.run(["go", "list", "-m", "-versions", module], capture_output=True, text=True, check=False)
    return parse_versions(asked.stdout.split()[1:]) if asked.returncode == 0 else ()


def has_version(module: str) -> bool:
    """Whether the proxy has `module@version`, listed or not."""
    asked = subprocess.run(["go", "list", "-m", module], capture_output=True, text=True, check=False)
    return asked.returncode == 0


def parse_versions(texts: Iterable[str]) -> tuple[Version, ...]:
    """Those that are versions."""
    found = []
    for text in texts:
        with suppress(VersionError):
            found.append(Version.parse(text))
    return tuple(found)
