"""What modules and roles have to say about themselves. Each check returns sentences, none if all is well."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

ATTRIBUTES = ("check_mode", "diff_mode", "platform")
SHARED_ROLE = "winkube"


def module_documentation(path: Path) -> Mapping[str, Any] | None:
    """The DOCUMENTATION in a .py file (in a fragment: of its class), or in the .yml beside a .ps1; else None."""
    return documentation_in(path.name, path.read_text(encoding="utf-8"))


def documentation_in(name: str, text: str) -> Mapping[str, Any] | None:
    """The same of the text of a file of this name."""
    if name.endswith(".yml"):
        document = yaml.safe_load(text)
        found = document.get("DOCUMENTATION") if isinstance(document, dict) else None
        return found if isinstance(found, dict) else None
    for node in ast.walk(ast.parse(text)):
        named = isinstance(node, ast.Assign) and any(
            getattr(target, "id", "") == "DOCUMENTATION" for target in node.targets
        )
        if named and isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            document = yaml.safe_load(str(node.value.value))
            return document if isinstance(document, dict) else None
    return None


def _attributes(root: Path, documentation: Mapping[str, Any]) -> dict[str, Any]:
    """The `attributes` of a module with those of the collection's own fragments that it extends."""
    found: dict[str, Any] = {}
    for name in documentation.get("extends_documentation_fragment") or []:
        fragment = root / "plugins" / "doc_fragments" / f"{str(name).rpartition('.')[2]}.py"
        if str(name).startswith("winkube.node.") and fragment.exists():
            found |= (module_documentation(fragment) or {}).get("attributes") or {}
    return found | (documentation.get("attributes") or {})


def undocumented_modules(root: Path) -> list[str]:
    """Modules without documentation, or whose documentation does not say how they behave (`attributes`)."""
    found = []
    for path in sorted((root / "plugins" / "modules").glob("*")):
        if path.suffix not in {".py", ".ps1"} or path.name == "__init__.py":
            continue
        source = path.with_suffix(".yml") if path.suffix == ".ps1" else path
        documentation = module_documentation(source) if source.exists() else None
        if documentation is None:
            found.append(f"{path.relative_to(root)}: no DOCUMENTATION in {source.name}")
            continue
        attributes = _attributes(root, documentation)
        absent = [name for name in ATTRIBUTES if "description" not in (attributes.get(name) or {})]
        if absent:
            found.append(f"{source.relative_to(root)}: its attributes do not tell {', '.join(absent)}")
        if documentation.get("module") != path.stem:
            found.append(f"{source.relative_to(root)}: documents {documentation.get('module')!r}, not {path.stem!r}")
    return found


def _yaml_at(path: Path) -> dict[str, Any]:
    document = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else None
    return document if isinstance(document, dict) else {}


def role_problems(root: Path) -> list[str]:
    """Roles whose README, argument_specs and defaults are missing or do not agree.

    A default stands in the role's own defaults/main.yml or in the shared role's, with the value that the spec tells.
    Each default of a role is an option of its spec. Each option is named in its README.
    """
    shared = _yaml_at(root / "roles" / SHARED_ROLE / "defaults" / "main.yml")
    folders = sorted(path for path in (root / "roles").glob("*") if path.is_dir())
    return [problem for folder in folders for problem in _problems_of_role(folder, shared)]


def _problems_of_role(folder: Path, shared: Mapping[str, Any]) -> Iterable[str]:
    role = f"roles/{folder.name}"
    readme = folder / "README.md"
    file = "shared_variables.yml" if folder.name == SHARED_ROLE else "argument_specs.yml"
    specs = _yaml_at(folder / "meta" / file).get("argument_specs")
    defaults = _yaml_at(folder / "defaults" / "main.yml")
    if not readme.exists():
        yield f"{role}: no README.md"
    if not isinstance(specs, dict) or not specs:
        yield f"{role}: no argument_specs in meta/{file}"
        return
    options = {name: option for entry in specs.values() for name, option in (entry.get("options") or {}).items()}
    text = readme.read_text(encoding="utf-8") if readme.exists() else ""
    for name, option in options.items():
        if text and f"`{name}`" not in text:
            yield f"{role}: README.md does not name `{name}`"
        yield from _problems_of_option(role, name, option, {**shared, **defaults})
    for name in defaults:
        if name not in options:
            yield f"{role}: {name} has a default but is not an option of the spec"


def _problems_of_option(role: str, name: str, option: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterable[str]:
    if option.get("required") and "default" in option:
        yield f"{role}: {name} is required and has a default"
    if "default" in option and name not in defaults:
        yield f"{role}: the spec gives {name} the default {option['default']!r}, defaults/main.yml does not have it"
    elif "default" in option and option["default"] != defaults[name]:
        yield f"{role}: {name} is {option['default']!r} in the spec and {defaults[name]!r} in defaults/main.yml"
    elif "default" not in option and name in defaults:
        yield f"{role}: {name} is {defaults[name]!r} in defaults/main.yml and has no default in the spec"
