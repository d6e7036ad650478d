# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Accounts that a container or the host does not have, and invalid credential specs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .catalog import ObjectCase, PodCase
from .credential_spec import faults
from .model import Hit, Path, Severity, as_map
from .rule import Rule, always, needing
from .rules_host import user_names


@needing("gmsaCredentialSpec")
def _credential_specs(case: PodCase) -> Iterator[Hit]:
    places: list[tuple[Path, Any, str]] = [(("spec",), case.pod.security, "")]
    places += [(each.path, each.security, each.name) for each in case.pod.containers]
    for path, security, container in places:
        text = as_map(security.get("windowsOptions")).get("gmsaCredentialSpec")
        fault = _fault_of(text) if isinstance(text, str) else ""
        if fault:
            hit = (*path, "securityContext", "windowsOptions", "gmsaCredentialSpec")
            yield Hit(hit, {"what": fault}, container)


def _fault_of(text: str) -> str:
    try:
        spec = as_map(json.loads(text))
    except ValueError as error:
        return f"is not JSON ({error})"
    return next(faults(spec), "")


def _spec_objects(case: ObjectCase) -> Iterator[Hit]:
    spec = case.object.value.get("credspec")
    for fault in faults(as_map(spec)) if spec is not None else ():
        yield Hit(("credspec",), {"value": case.object.name, "what": fault})


_OF_LINUX = frozenset(["root", "nobody", "daemon", "www-data", "nginx", "nonroot"])
# Prefixes of the machine's own accounts. Source: learn.microsoft.com, Security identifiers.
_OF_THE_MACHINE = frozenset(["nt authority", "nt service", "builtin", "user manager", "window manager", "."])
_SERVICE_DOMAIN = "NT AUTHORITY"


@needing("runAsUserName")
def _unknown_accounts(case: PodCase) -> Iterator[Hit]:
    for path, name, container, of_host in user_names(case):
        domain, _backslash, user = name.rpartition("\\")
        if user.lower() in _OF_LINUX or user.isdigit():
            what = "an account of Linux" if not user.isdigit() else "a number, and accounts of Windows have names"
            yield Hit(path, {"value": name, "what": f"{what}: images for Windows do not have it"}, container)
        # A group managed account logs on without a password.
        elif domain and domain.lower() not in _OF_THE_MACHINE and not user.endswith("$"):
            why = "the runtime has no password for it" if of_host else "containers are in no domain"
            yield Hit(path, {"value": name, "what": f"an account of the domain {domain}: {why}"}, container)
        elif of_host and domain.upper() == _SERVICE_DOMAIN != domain:
            what = f"written in other letters than {_SERVICE_DOMAIN}, by which the runtime knows services"
            yield Hit(path, {"value": name, "what": what}, container)


RULES: tuple[Rule, ...] = (
    Rule(
        id="invalid-gmsa-spec",
        title="Contents of a credential spec",
        level=always(Severity.ERROR),
        find=_credential_specs,
        message="gmsaCredentialSpec {what}: the runtime cannot use it, and the container does not start.",
        remedy="Leave it to the webhook (gmsaCredentialSpecName), or paste what New-CredentialSpec wrote.",
        source="learn.microsoft.com, Create gMSAs for Windows containers; microsoft/hcsshim internal/hcsoci",
        paths=("spec.securityContext.windowsOptions.gmsaCredentialSpec",),
    ),
    Rule(
        id="invalid-gmsa-spec",
        title="Credential specs as objects",
        level=always(Severity.ERROR),
        find=_spec_objects,
        message="GMSACredentialSpec {value} {what}: Windows cannot use it, and the container does not start.",
        remedy="Paste what New-CredentialSpec wrote.",
        source="learn.microsoft.com, Create gMSAs for Windows containers; kubernetes-sigs/windows-gmsa charts/gmsa",
        kinds=("GMSACredentialSpec",),
        paths=("credspec",),
    ),
    Rule(
        id="unknown-account",
        title="Accounts that do not exist",
        level=always(Severity.ERROR),
        find=_unknown_accounts,
        message="runAsUserName is {value}, {what}; the container does not start.",
        remedy=r"Use ContainerUser or ContainerAdministrator; in a HostProcess container NT AUTHORITY\SYSTEM or a local"
        " group. For an account of a domain use a gMSA.",
        source="microsoft/hcsshim internal/jobcontainers/logon.go processToken; learn.microsoft.com, Secure Windows"
        " containers",
        paths=("spec.securityContext.windowsOptions.runAsUserName",),
    ),
)
