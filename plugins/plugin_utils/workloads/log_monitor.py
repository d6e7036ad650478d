# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""LogMonitorConfig.json: the event logs, ETW providers and files that LogMonitor copies to standard output.

A file of its own: the filter plugin is Ansible's side of it, and workloads/ does not depend on Ansible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

LEVELS = ("Critical", "Error", "Warning", "Information", "Verbose")
"""Source: microsoft/windows-container-tools LogMonitor/docs/README.md, `level`."""

_GUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_FOLDER = re.compile(r"[A-Za-z]:[\\/]")
KINDS = ("event_logs", "providers", "files")


def config(
    event_logs: Mapping[str, str], providers: Iterable[Mapping[str, Any]], files: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """The document, with a source for each given kind.

    `event_logs`: channel to level. `providers`: {guid, name (optional), level (Error)}. `files`: {directory, filter
    (*.log), subdirectories (True)}. ValueError with all mistakes. Source: microsoft/windows-container-tools
    LogMonitor/docs/README.md.
    """
    problems: list[str] = []
    sources = [
        *_event_log(event_logs, problems),
        *(_file(each, problems) for each in files),
        *_etw(list(providers), problems),
    ]
    if not sources:
        problems.append("nothing to monitor: give event_logs, providers or files")
    if problems:
        raise ValueError("; ".join(problems))
    return {"LogConfig": {"sources": sources}}


def _event_log(channels: Mapping[str, str], problems: list[str]) -> list[dict[str, Any]]:
    if not channels:
        return []
    named = [{"name": name, "level": _level(level, f"event_logs.{name}", problems)} for name, level in channels.items()]
    return [{"type": "EventLog", "startAtOldestRecord": True, "eventFormatMultiLine": False, "channels": named}]


def _etw(providers: list[Mapping[str, Any]], problems: list[str]) -> list[dict[str, Any]]:
    found = []
    for each in providers:
        guid = str(each.get("guid") or "")
        if not _GUID.fullmatch(guid):
            problems.append(f"providers: '{guid}' is not a GUID (logman query providers lists them)")
        name = {"providerName": str(each["name"])} if each.get("name") else {}
        found.append({**name, "providerGuid": guid, "level": _level(each.get("level", "Error"), "providers", problems)})
    return [{"type": "ETW", "eventFormatMultiLine": False, "providers": found}] if found else []


def _file(each: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    directory = str(each.get("directory") or "")
    if not _FOLDER.match(directory):
        problems.append(f"files: '{directory}' is not a folder such as C:\\inetpub\\logs")
    return {
        "type": "File",
        "directory": directory,
        "filter": str(each.get("filter", "*.log")),
        "includeSubdirectories": bool(each.get("subdirectories", True)),
    }


def _level(level: Any, where: str, problems: list[str]) -> str:
    for known in LEVELS:
        if str(level).lower() == known.lower():
            return known
    problems.append(f"{where}: the level '{level}' is not one of {', '.join(LEVELS)}")
    return str(level)
