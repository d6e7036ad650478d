"""Pods that select no system: told once a run, unless it is known what keeps them off Windows nodes."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import Report, lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import live_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile, apply_settings
from ansible_collections.winkube.node.plugins.plugin_utils.lint.report import as_dict, as_text

LINE = "select no system; with untainted Windows nodes they land there"


def deployment(name: str, **spec: Any) -> dict[str, Any]:
    pod = {"containers": [{"name": "a", "image": "nginx:1.27"}], **spec}
    template = {"metadata": {"labels": {"app": name}}, "spec": pod}
    whole = {"selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": whole}


def report(*objects: dict[str, Any], **settings: Any) -> Report:
    return lint(live_documents(list(objects)), apply_settings(Profile(), settings))


UNDIRECTED = (deployment("a"), deployment("b", nodeSelector={"kubernetes.io/arch": "amd64"}))
DIRECTED = (
    deployment("c", nodeSelector={"kubernetes.io/os": "linux"}),
    deployment("d", nodeSelector={"kubernetes.io/os": "windows"}),
    deployment("e", nodeSelector={"pool": "linux"}),
    deployment("f", nodeName="n1"),
)


def test_they_are_counted_once_a_run_and_are_no_finding() -> None:
    found = report(*UNDIRECTED, *DIRECTED)
    assert found.undirected == 2
    assert [line for line in as_text(found) if LINE in line] == [
        f"2 pods {LINE} (the setting taint says whether they are).\n"
    ]
    assert as_dict(found, Profile())["summary"]["undirected"] == 2
    assert not [each for each in found.findings if each.rule == "untainted-windows-nodes"]
    assert "1 pod selects no system" in "".join(as_text(report(UNDIRECTED[0])))


def test_where_all_select_a_system_nothing_is_said() -> None:
    assert report(*DIRECTED).undirected == 0
    assert "no system" not in "".join(as_text(report(*DIRECTED)))


@pytest.mark.parametrize(("taint", "warnings"), [("none", 2), ("os=windows:NoSchedule", 0)])
def test_a_known_taint_decides(taint: str, warnings: int) -> None:
    found = report(*UNDIRECTED, *DIRECTED[:1], taint=taint)
    assert found.undirected == 0
    assert sum(each.severity.name == "WARNING" for each in found.findings) == warnings
