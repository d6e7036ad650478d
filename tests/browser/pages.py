"""The pages as they are made of what the lab and the public cases show: several nodes, long lines, markup in names."""

from __future__ import annotations

from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.cri import plot
from ansible_collections.winkube.node.plugins.plugin_utils.cri.samples import SOURCES
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import page
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import diagnose
from ansible_collections.winkube.node.plugins.plugin_utils.pages.render import render

from tests.judge.case import load, scene

HOSTILE = "<script>document.title='in'</script>"
NANO = 1_000_000_000
WIDTHS = {"phone": 400, "tablet": 800, "desk": 1300}
"""CSS pixels at which every page has to be readable."""


def diagnosis(markup: str = "") -> str:
    """Nodes of public cases, one that is well and one that was not reached."""
    cases = {case.name: case for case in load("cases")}
    chosen = {"win1": "kubernetes-110674", "win2": "sig-windows-tools-215", "win3": "flannel-1112"}
    nodes = [_node(host, diagnose(scene(cases[name])), markup) for host, name in chosen.items()]
    well = next(case for case in load("healthy") if case.name == "flannel-overlay")
    return page.as_html(
        [*nodes, _node("win4", diagnose(scene(well)), markup), {"host": "win5", "error": f"timed out {markup}"}]
    )


def _node(host: str, found: Any, markup: str) -> dict[str, Any]:
    boxes = {
        "adapters": [{"id": "a", "title": "Ethernet", "text": "10.0.0.5/24, MTU 1500", "to": [], "bad": False}],
        "networks": [
            {"id": "n", "title": "cbr0", "text": f"l2bridge {markup}", "to": ["a"], "bad": bool(found.causes)}
        ],
    }
    return {
        "host": host,
        "windows": "Windows Server 2022 (10.0.20348.2582)",
        "ready": "True",
        "standing": "Ready, 1.37.1, containerd 2.3.7",
        "message": "",
        "counts": {"errors": len(found.causes)},
        "services": [f"kubelet: running, C:\\k\\kubelet.exe --{'x' * 200}"],
        "picture": boxes,
        "causes": found.as_data(host),
        "said": list(found.lines(host)),
    }


def drift(markup: str = "") -> str:
    """A node as wanted, one that differs, one that was not reached."""
    text = "write C:\\Program Files\\containerd\\config.toml"
    diff = (
        f"-sandbox_image = 'registry.k8s.io/pause:3.9'\n+sandbox_image = 'registry.k8s.io/pause:3.10' # {markup}\n" * 40
    )
    steps = [{"text": text, "diff": diff}, {"text": "restart containerd", "diff": ""}]
    nodes = [
        {"name": "win1", "state": "same", "error": "", "components": {}},
        {"name": "win2", "state": "different", "error": "", "components": {"containerd": steps}},
        {"name": "win3", "state": "unreachable", "error": f"Connection timed out {markup}", "components": {}},
    ]
    return render("drift.html.j2", report={"generated": "2026-11-23T02:00:00Z", "nodes": nodes})


def cpu(markup: str = "") -> str:
    """A container that burns half a core; the runtime says zero now and then."""
    readings = [
        {
            "namespace": "default",
            "pod": "burner",
            "container": "cpu",
            "source": SOURCES[1],
            "at_ns": second * NANO,
            "core_ns": second * NANO // 2,
            "nano_cores": 0 if second % 7 == 3 else 480_000_000 + 4_000_000 * (second % 11),
        }
        for second in range(60)
    ]
    verdicts = [
        {"blame": "containerd", "call": "CRI", "text": f"9 zeros while the counter moved {markup}", "defect": None}
    ]
    return plot.draw("stats.html", readings, "CPU of pod burner", verdicts)


PAGES = {"diagnosis": diagnosis, "drift": drift, "cpu": cpu}
