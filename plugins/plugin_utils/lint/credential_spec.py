# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes in a gMSA credential spec, for the linter (manifests) and the diagnosis (cluster).

A file of its own, because two packages use it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..foreign.windows import Pattern
from .model import as_list, as_map, as_text

_GUID = r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_DOMAIN_SID = Pattern(r"S-1-5-21-\d+-\d+-\d+")
_FIELDS = ("Sid", "MachineAccountName", "Guid", "DnsTreeName", "DnsName", "NetBiosName")


def faults(spec: Mapping[str, Any]) -> Iterator[str]:
    """The mistakes, each a clause that follows the spec's name. Sources: learn.microsoft.com, Create gMSAs for
    Windows containers (credential specs) and ICcgDomainAuthCredentials; microsoft/hcsshim internal/hcsoci."""
    if "ActiveDirectory" not in as_list(spec.get("CmsPlugins")):
        yield "does not name ActiveDirectory in CmsPlugins"
    directory, domain = as_map(spec.get("ActiveDirectoryConfig")), as_map(spec.get("DomainJoinConfig"))
    accounts = [as_text(as_map(each).get("Name")) for each in as_list(directory.get("GroupManagedServiceAccounts"))]
    if not any(accounts):
        yield "names no account in ActiveDirectoryConfig.GroupManagedServiceAccounts"
    yield from _domain(domain, accounts)
    if "HostAccountConfig" in directory:
        yield from _plugin(as_map(directory.get("HostAccountConfig")))


def _domain(domain: Mapping[str, Any], accounts: list[str]) -> Iterator[str]:
    if lacking := [name for name in _FIELDS if not as_text(domain.get(name))]:
        yield f"has no {', '.join(lacking)} in DomainJoinConfig"
        return
    account, sid, guid = (as_text(domain.get(name)) for name in ("MachineAccountName", "Sid", "Guid"))
    if not _DOMAIN_SID.fullmatch(sid):
        yield f"has the Sid {sid} in DomainJoinConfig, which is not a domain's (S-1-5-21 and three numbers)"
    if not re.fullmatch(_GUID, guid):
        yield f"has the Guid {guid} in DomainJoinConfig, which is not a GUID"
    if account.endswith("$"):
        yield f"has the MachineAccountName {account}; it is written without the $"
    elif any(accounts) and account.casefold() not in {each.casefold() for each in accounts}:
        yield f"has the MachineAccountName {account}, which GroupManagedServiceAccounts does not name"


def _plugin(host: Mapping[str, Any]) -> Iterator[str]:
    guid = as_text(host.get("PluginGUID"))
    if not re.fullmatch(r"\{" + _GUID + r"\}", guid):
        yield f"has the PluginGUID {guid or '(none)'}, which is not a GUID in braces"
    if as_text(host.get("PortableCcgVersion")) != "1":
        yield "has no PortableCcgVersion '1' in HostAccountConfig"
    if not as_text(host.get("PluginInput")):
        yield "has no PluginInput in HostAccountConfig, which tells the plugin where the password is"
