"""Every optional component there is, with releases that the lab serves."""

from __future__ import annotations

import hashlib
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import yaml

from tests.integration.lab import ROOT, Bench
from tests.lab.programs import optional

OPTIONAL = tuple(sorted(each.name for each in iter_modules(optional.__path__)))


def optional_components(bench: Bench, *roles: str) -> dict[str, Any]:
    """The variables that install these, or all of them, in the release that the role has."""
    found: dict[str, Any] = {"winkube_optional_components": list(roles or OPTIONAL)}
    for role in roles or OPTIONAL:
        program = import_module(f"{optional.__name__}.{role}")
        defaults = yaml.safe_load((ROOT / "roles" / role / "defaults" / "main.yml").read_text(encoding="utf-8"))
        name, data = program.release(defaults[f"winkube_{role}_version"])
        bench.lab.sources.publish(f"/{name}", data)
        found[f"winkube_{role}_url"] = f"http://xyz/{name}"
        found[f"winkube_{role}_checksum"] = f"sha256:{hashlib.sha256(data).hexdigest()}"
        found |= getattr(program, "WANTED", {})
    return found
