# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection's own templates, compiled once and kept for later runs in the folder __pycache__ here.

Ansible compiles a template at each use, and again in each worker: half of what a converged node cost the controller.
Only this module knows what is saved here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any

import jinja2
from ansible.errors import AnsibleError
from ansible.release import __version__
from ansible.template import Templar, trust_as_template

OF_FILES: Mapping[str, Any] = {
    "escape_backslashes": False,
    "overrides": {"trim_blocks": True, "lstrip_blocks": True},
}
"""How Ansible's module template renders a file."""
KEPT = Path(__file__).parent / "__pycache__" / f"templates.{sys.implementation.cache_tag}.pyc"

_Known = tuple[bool, str]
"""Whether it is a file, and the text."""
_COMPILED: dict[_Known, CodeType | None] = {}
"""Code belongs to no environment: Jinja's cache of bytecode keeps it likewise. None: not compiled yet."""
_PLUGIN = re.compile(r"(?:\||\bis(?: not)?)\s*([a-z_][a-z0-9_.]*)")
"""The name of a filter or test."""


def cache_templates(templates: Iterable[str], files: Iterable[str] = (), kept: Path = KEPT) -> None:
    """Compiles these now, before workers are forked, and lets Ansible take what was compiled. Where Ansible's inside is
    another one, it compiles as ever.

    Args:
        templates: Texts of the collection, as its roles have them; no one else's are touched.
        files: The texts of its template files.
        kept: Where earlier runs have left what they compiled, and this one leaves it.
    """
    templar = Templar(loader=None, variables={})
    environment: Any = getattr(getattr(templar, "_engine", None), "environment", None)
    kind: Any = type(environment)
    wanted = {(False, str(text)) for text in templates if "{{" in text or "{%" in text}
    wanted |= {(True, str(text)) for text in files}
    wanted -= set(_COMPILED)
    if not wanted or not callable(getattr(kind, "compile", None)):
        return
    if not getattr(kind.compile, "keeps", False):
        kind.compile = _take_from_cache(kind.compile)
    key = _key(environment, wanted)
    if (found := _read(kept, key)) is not None:
        _COMPILED.update(found)
        return
    _COMPILED.update(dict.fromkeys(wanted))
    for is_file, text in wanted:
        with suppress(AnsibleError):  # its variables are not known here
            templar.template(trust_as_template(text), **(OF_FILES if is_file else {}))
        if _COMPILED[is_file, text] is None:
            del _COMPILED[is_file, text]
    _write(kept, key, {known: code for known in wanted if (code := _COMPILED.get(known)) is not None})


def _take_from_cache(compiles: Callable[..., Any]) -> Callable[..., Any]:
    def compile_once(environment: Any, source: Any, *arguments: Any, **keywords: Any) -> Any:
        as_wanted = isinstance(source, str) and environment.trim_blocks and not (arguments or keywords)
        known = (environment.lstrip_blocks, source)
        if not as_wanted or known not in _COMPILED:
            return compiles(environment, source, *arguments, **keywords)
        if (found := _COMPILED[known]) is None:
            found = _COMPILED[known] = compiles(environment, source)
        return found

    compile_once.keeps = True  # type: ignore[attr-defined]
    return compile_once


def _key(environment: Any, wanted: Iterable[_Known]) -> bytes:
    """Of all that the code depends on. The filters and tests are loaded with it, for all workers."""
    texts = sorted(wanted)
    settings = [jinja2.__version__, __version__, *sorted(map(str, getattr(environment, "extensions", ())))]
    for name in sorted({name for _is_file, text in texts for name in _PLUGIN.findall(text)}):
        for plugins in (environment.filters, environment.tests):
            with suppress(KeyError, jinja2.TemplateError, AnsibleError):
                settings.append(f"{name} {getattr(plugins[name], 'jinja_pass_arg', None)}")
    return hashlib.sha256(importlib.util.MAGIC_NUMBER + repr((settings, texts)).encode()).digest()


def _read(kept: Path, key: bytes) -> dict[_Known, CodeType] | None:
    with suppress(OSError, EOFError, ValueError, TypeError):
        held = kept.read_bytes()
        if held.startswith(key):
            found: dict[_Known, CodeType] = marshal.loads(held[len(key) :])
            return found
    return None


def _write(kept: Path, key: bytes, compiled: Mapping[_Known, CodeType]) -> None:
    """As Python keeps what it has compiled: where it may write, and as a whole."""
    if sys.dont_write_bytecode:
        return
    with suppress(OSError):
        kept.parent.mkdir(exist_ok=True)
        number, name = tempfile.mkstemp(dir=kept.parent)
        with os.fdopen(number, "wb") as stream:
            stream.write(key + marshal.dumps(dict(compiled)))
        Path(name).chmod(Path(__file__).stat().st_mode & 0o666)
        Path(name).replace(kept)
