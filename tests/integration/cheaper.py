"""What Ansible does very often in a run, and with little effort as well: for the templates of warm.py."""

from __future__ import annotations

import contextlib
import re
from typing import Any


def install() -> None:
    copy_no_constants()
    collect_variables_cheaply()
    combine_dictionaries_quickly()
    scan_what_may_match()


def copy_no_constants() -> None:
    """Ansible copies what it has read of a role's files whenever it needs it, and most of that time goes into texts and
    their tags (where they are from), none of which can change: a copy of one is itself."""
    with contextlib.suppress(ImportError, AttributeError):
        from ansible.module_utils._internal import _datatag

        constants = ("_AnsibleTaggedStr", "_AnsibleTaggedInt", "_AnsibleTaggedFloat", "_AnsibleTagsMapping")
        for kind in (_datatag.AnsibleDatatagBase, *(getattr(_datatag, name) for name in constants)):
            kind.__deepcopy__ = lambda self, memo: self


def collect_variables_cheaply() -> None:
    """Whenever Ansible collects a task's variables, eighty times in a run, it makes of each another one for the
    dictionary `vars`, so that it can warn of its use: a fifth of what its own process did. No play of ours uses
    `vars`."""
    with contextlib.suppress(ImportError):
        from ansible.vars import manager

        if hasattr(manager, "_DEPRECATE_VARS"):
            manager._DEPRECATE_VARS = _Untagged()


def combine_dictionaries_quickly() -> None:
    """Before it joins two of 6,000 pairs in a run, Ansible asks whether both are mappings, by way of an abstract class:
    of a dictionary it need not ask."""
    with contextlib.suppress(ImportError):
        from ansible.utils import vars as variables

        if complain := vars(variables).get("_validate_mutable_mappings"):

            def validate(a: Any, b: Any) -> None:
                if not (isinstance(a, dict) and isinstance(b, dict)):
                    complain(a, b)

            variables._validate_mutable_mappings = validate


class _Untagged:
    """In place of a tag."""

    @staticmethod
    def tag(value: Any) -> Any:
        return value


def scan_what_may_match() -> None:
    """For each module that it sends to a node, Ansible tries ten patterns at each line of its PowerShell, all of which
    begin with "#" ("using" in C#): it is shown those lines."""
    from ansible.executor.powershell.module_manifest import PSModuleDepFinder

    scan = PSModuleDepFinder.scan_module
    lines = {True: re.compile(rb"(?m)^#.*$"), False: re.compile(rb"(?im)^using.*$")}

    def scan_module(self: Any, data: bytes, fqn: str | None = None, powershell: bool = True) -> set[str]:
        return scan(self, b"\n".join(lines[powershell].findall(data)), fqn, powershell)  # type: ignore[no-any-return]

    PSModuleDepFinder.scan_module = scan_module
