"""LogMonitorConfig.json against the golden file and against the form that LogMonitor's documentation describes."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.winkube.node.plugins.filter.k8s_windows_log_monitor import k8s_windows_log_monitor

from tests.conftest import ROOT

IIS: dict[str, Any] = {
    "event_logs": {"system": "information", "application": "Error"},
    "files": [{"directory": "c:\\inetpub\\logs"}],
    "providers": [
        {"name": "IIS: WWW Server", "guid": "3A2A4E84-4C21-4981-AE10-3FDA0D9B0F83", "level": "Information"},
        {
            "name": "Microsoft-Windows-IIS-Logging",
            "guid": "7E8AD27F-B271-4EA2-A783-A47BDE29143B",
            "level": "Information",
        },
    ],
}
LEVEL = {"enum": ["Critical", "Error", "Warning", "Information", "Verbose"]}


def source(kind: str, required: list[str], **properties: Any) -> dict[str, Any]:
    properties = {"type": {"const": kind}, "eventFormatMultiLine": {"type": "boolean"}, **properties}
    return {"type": "object", "required": ["type", *required], "properties": properties, "additionalProperties": False}


def entries(required: list[str], **properties: Any) -> dict[str, Any]:
    item = {"type": "object", "required": required, "properties": properties, "additionalProperties": False}
    return {"type": "array", "minItems": 1, "items": item}


# Written from LogMonitor/docs/README.md of microsoft/windows-container-tools, not from the code.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["LogConfig"],
    "properties": {
        "LogConfig": {
            "type": "object",
            "required": ["sources"],
            "properties": {
                "sources": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "oneOf": [
                            source(
                                "EventLog",
                                ["startAtOldestRecord", "channels"],
                                startAtOldestRecord={"type": "boolean"},
                                channels=entries(["name"], name={"type": "string"}, level=LEVEL),
                            ),
                            source(
                                "File",
                                ["directory"],
                                directory={"type": "string"},
                                filter={"type": "string"},
                                includeSubdirectories={"type": "boolean"},
                            ),
                            source(
                                "ETW",
                                ["providers"],
                                providers=entries(
                                    ["providerGuid"],
                                    providerName={"type": "string"},
                                    providerGuid={
                                        "type": "string",
                                        "pattern": "^[0-9A-F]{8}-([0-9A-F]{4}-){3}[0-9A-F]{12}$",
                                    },
                                    level=LEVEL,
                                ),
                            ),
                        ]
                    },
                }
            },
        }
    },
}


@pytest.mark.row("OB-03")
def test_the_file_is_the_golden_one_and_has_the_documented_form() -> None:
    text = k8s_windows_log_monitor(IIS)
    assert text == (ROOT / "examples" / "workloads" / "LogMonitorConfig.json").read_text(encoding="utf-8")
    jsonschema.validate(json.loads(text), SCHEMA)
    assert [each["type"] for each in json.loads(text)["LogConfig"]["sources"]] == ["EventLog", "File", "ETW"]


@pytest.mark.row("OB-03")
@pytest.mark.parametrize("kind", list(IIS))
def test_each_kind_alone_is_a_source(kind: str) -> None:
    made = json.loads(k8s_windows_log_monitor({kind: IIS[kind]}))
    jsonschema.validate(made, SCHEMA)
    assert len(made["LogConfig"]["sources"]) == 1


@pytest.mark.row("OB-03")
def test_what_is_left_out_of_a_source() -> None:
    guid = "3A2A4E84-4C21-4981-AE10-3FDA0D9B0F83"
    made = json.loads(k8s_windows_log_monitor({"providers": [{"guid": guid}], "files": [{"directory": "C:\\logs"}]}))
    files, events = made["LogConfig"]["sources"]
    assert events["providers"] == [{"providerGuid": guid, "level": "Error"}]
    assert files == {"type": "File", "directory": "C:\\logs", "filter": "*.log", "includeSubdirectories": True}


@pytest.mark.row("OB-03")
@pytest.mark.parametrize("level", ["Critical", "Error", "Warning", "Information", "Verbose"])
def test_log_monitors_levels_in_any_case(level: str) -> None:
    made = json.loads(k8s_windows_log_monitor({"event_logs": {"system": level.lower()}}))
    (source,) = made["LogConfig"]["sources"]
    assert source["channels"] == [{"name": "system", "level": level}]
    assert source["startAtOldestRecord"] is True


@pytest.mark.row("OB-03")
@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ({}, "nothing to monitor: give event_logs, providers or files"),
        ({"event_logs": {"system": "loud"}}, "event_logs.system: the level 'loud' is not one of Critical, Error"),
        ({"providers": [{"guid": "IIS"}]}, "providers: 'IIS' is not a GUID"),
        ({"files": [{"directory": "/var/log"}]}, "files: '/var/log' is not a folder such as C:"),
        ({"eventlogs": {}}, "give a mapping with any of event_logs, providers, files"),
    ],
)
def test_what_is_wrong_is_said(sources: dict[str, Any], said: str) -> None:
    with pytest.raises(AnsibleFilterError) as error:
        k8s_windows_log_monitor(sources)
    assert said in str(error.value)
