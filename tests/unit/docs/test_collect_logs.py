"""docs/collect-logs.md says how to report an issue, as Kubernetes' pages do, and what the playbook does."""

from __future__ import annotations

import re

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import collect, store

from tests.conftest import ROOT
from tests.unit.roles.defaults import trusted

PAGE = (ROOT / "docs" / "collect-logs.md").read_text(encoding="utf-8")
(PLAY,) = yaml.safe_load((ROOT / "playbooks" / "collect_logs.yml").read_text(encoding="utf-8"))


def section(name: str) -> str:
    (text,) = re.findall(rf"^## {name}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


@pytest.mark.row("LG-05")
def test_search_first_then_the_contributing_guide() -> None:
    steps = re.findall(r"^(\d)\. (.*)$", section("File an issue"), re.MULTILINE)
    assert steps[0][1].startswith("Search first")
    assert "comment there with what you have seen, and add your logs" in section("File an issue")
    (guide,) = [text for _number, text in steps if "contributing guide" in text]
    assert "github.com/kubernetes/community/blob/master/sig-windows/CONTRIBUTING.md" in guide


@pytest.mark.row("LG-04")
def test_the_label() -> None:
    assert "`/sig windows`" in section("File an issue")


@pytest.mark.row("LG-02")
def test_the_tags_and_what_they_do() -> None:
    text = section("A trace of HNS")
    tasks = {tag: task for task in PLAY["tasks"] for tag in task.get("tags", []) if tag.startswith("hnstrace")}
    for tag in ("hnstrace_start", "hnstrace_stop"):
        assert f"--tags {tag}" in text
        assert tasks[tag]["winkube.node.win_k8s_collect_logs"] == {"hnstrace": tag.removeprefix("hnstrace_")}
        assert "never" in tasks[tag]["tags"], "not without being asked for"
    assert collect.TRACE_FILE in text and f"{collect.TRACE_MAX_MB} MB" in text and "winkube_hnstrace_script" in text


@pytest.mark.row("LG-02")
def test_a_script_or_a_file_of_ones_own_reaches_the_module() -> None:
    options = trusted(PLAY["module_defaults"]["winkube.node.win_k8s_collect_logs"])

    def given(**variables: object) -> list[object]:
        templar = Templar(DataLoader(), variables=variables)
        return [templar.template(options[f"hnstrace_{name}"]) for name in ("script", "file", "max")]

    assert given() == ["", r"C:\server.etl", 250]
    script, file = r"C:\k\debug\starthnstrace.cmd", r"D:\trace.etl"
    own = {"winkube_hnstrace_script": script, "winkube_hnstrace_file": file, "winkube_hnstrace_max": 100}
    assert given(**own) == [script, file, 100]


@pytest.mark.row("OB-08")
def test_how_to_see_more_of_the_kubelet() -> None:
    text = section("More to see")
    defaults = yaml.safe_load((ROOT / "roles" / "kubelet" / "defaults" / "main.yml").read_text(encoding="utf-8"))
    assert f"`winkube_kubelet_verbosity` ({defaults['winkube_kubelet_verbosity']} if" in text


def test_limits_and_variables_are_those_of_the_code() -> None:
    assert f"longer than {store.LIMIT // 1024} KB it fetches the first {store.HEAD // 1024} KB" in PAGE
    assert f"the last {store.TAIL // 1024} KB" in PAGE
    given = PLAY["module_defaults"]["winkube.node.win_k8s_collect_logs"].values()
    used = set(re.findall(r"winkube_(?:logs|hnstrace)_\w+", " ".join(map(str, given))))
    assert used == set(re.findall(r"`(winkube_(?:logs|hnstrace)_\w+)[`:]", PAGE))
