"""The report: Markdown, HTML with its picture, JSON."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import page
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.checks_programs import exit_line
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.gather import bug_report
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.picture import ROWS, draw, picture_of
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import report_of

from .nodes import ADDRESS, POD_IP, Node, endpoint, healthy, stopped

SVG = "{http://www.w3.org/2000/svg}"


def data_of(node: Node, host: str = "win1") -> dict[str, Any]:
    scene, findings = node.looked()
    report = report_of(findings)
    return {
        "host": host,
        "windows": "Windows Server 2022 (10.0.20348.2582)",
        "message": "",
        "counts": report.counts,
        "services": [exit_line(scene.second.service(name) or {}) for name in ("kubelet", "kube-proxy")],
        "facts": list(bug_report(scene)),
        "picture": picture_of(scene),
        "causes": report.as_data(host),
        "notes": [one.as_data(host) for one in report.notes],
        "said": list(report.lines(host)),
    }


def broken_node() -> Node:
    node = healthy()
    stopped(node)
    node.hns("endpoints", lambda found: [*found, endpoint("10.244.3.77", Name="<script>alert(1)</script>")])
    return node


READY = {"standing": "Ready, 1.37.1, containerd 2.3.7"}
NODES = [data_of(healthy(True), "win2") | READY, data_of(broken_node()), {"host": "win3", "error": "timed out"}]


def test_json_tells_a_machine() -> None:
    found = json.loads(page.as_json(NODES))
    assert found["broken"] is True
    assert found["counts"]["unreachable"] == 1
    causes = found["nodes"][1]["causes"]
    assert found["counts"]["errors"] >= len([one for one in causes if one["severity"] == "error"])
    (stopped_one,) = (one for one in causes if one["id"] == "kubelet.stopped")
    assert "WIN32_EXIT_CODE 1066 (0x42a), SERVICE_EXIT_CODE 255 (0xff)" in str(stopped_one["evidence"])
    assert json.loads(page.as_json(NODES[:1]))["broken"] is False


@pytest.mark.parametrize(
    ("identity", "box"), [("gmsa.no-crd", "API"), ("volume.busy", "kubelet"), ("odd-exporter.stopped", "host")]
)
def test_each_cause_marks_one_component(identity: str, box: str) -> None:
    cause = {**NODES[1]["causes"][0], "id": identity}
    shown = page._show({**NODES[1], "causes": [cause]})["components"]
    assert [each["name"] for each in shown if each["severity"]] == [box]


def test_markdown_has_causes_then_notes_then_facts() -> None:
    text = page.as_markdown(NODES)
    first = text.partition("\n## ")[0]
    assert "**1 of 3 nodes work.**" in first
    assert "| win1 | the Node was not seen | kubelet does not run; " in first, "the cause stands in the first table"
    assert "| win2 | Ready, 1.37.1, containerd 2.3.7 | nothing found | 0 errors, 0 warnings, " in first
    assert "| win3 | the Node was not seen | not reached: timed out |  |" in first
    assert first.index("| win1 |") < first.index("| win3 |") < first.index("| win2 |"), "sick nodes first"
    assert "Node: Ready, 1.37.1, containerd 2.3.7. Windows: " in text.partition("\n## win2\n")[2]
    assert "Begin with the general page, https://kubernetes.io/docs/tasks/" in first
    section = text.partition("\n## win1\n")[2].partition("\n## win3\n")[0]
    assert "### kubelet does not run" in section
    assert "$ ansible-playbook winkube.node.repair --limit win1 -e winkube_repair=restart" in section
    assert section.index("### kubelet does not run") < section.index(
        "What Windows cannot do, and what could not be checked"
    )
    assert "kubelet: stopped, WIN32_EXIT_CODE 1066 (0x42a), SERVICE_EXIT_CODE 255 (0xff)" in section
    assert "## win3\n\nNot reached: timed out" in text
    assert "#sig-windows" in text


def test_each_node_that_does_not_work_has_a_sentence_of_its_own() -> None:
    sentences = page.verdicts(NODES)
    assert list(sentences) == ["win1", "win3"], "a healthy node has none"
    assert sentences["win1"].startswith("win1 does not work: kubelet does not run; ")
    assert sentences["win3"] == "win3 does not work: not reached: timed out."


def test_a_terminal_gets_a_line_for_each_sentence() -> None:
    lines = page.lines(NODES)
    assert "win3: not reached: timed out" in lines
    assert [line for line in lines if "\n" in line] == []
    assert any(line.startswith("  kubelet does not run. ") for line in lines)
    counts = {**NODES[1]["counts"], "errors": 1, "warnings": 2}
    assert page.tally({**NODES[1], "counts": counts}).startswith("1 error, 2 warnings")


class Page(HTMLParser):
    """Which elements a page opens, which it leaves open, and what it loads."""

    EMPTY = frozenset({"meta", "br", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.loads += [
            str(value)
            for name, value in attrs
            if (name == "src" or (name == "href" and tag != "a")) and not str(value).startswith("data:")
        ]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_stands_alone_and_lets_nothing_in() -> None:
    parser = Page()
    parser.feed(page.as_html(NODES))
    assert parser.open == []
    assert parser.loads == []
    assert "script" not in parser.seen
    assert {"svg", "section", "details"} <= parser.seen


def boxes(svg: str) -> dict[str, str]:
    """The text of each box -> its colour."""
    root = ElementTree.fromstring(svg)
    found = {}
    for group in root.iter(f"{SVG}g"):
        title, rectangle = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        assert title is not None
        assert rectangle is not None
        found[str(title.text)] = str(rectangle.get("fill"))
    return found


def test_the_picture_has_adapters_networks_endpoints_and_services_and_what_hangs_on_what() -> None:
    picture = picture_of(healthy().scene())
    svg = draw(picture, "win1")
    shown = boxes(svg)
    assert any(text.startswith(f"vEthernet (Ethernet): {ADDRESS}/24") for text in shown)
    assert f"cbr0: l2bridge, 10.244.3.0/24, {ADDRESS}" in shown
    assert f"{POD_IP}: default/web" in shown
    assert "default/web: 10.97.14.2, TCP 80 to 80" in shown
    assert len(set(shown.values())) == 1, "nothing is red on a healthy node"
    lines = list(ElementTree.fromstring(svg).iter(f"{SVG}line"))
    wanted = sum(len(box["to"]) for column in picture.values() for box in column)
    assert len(lines) == wanted


def test_what_is_wrong_is_red() -> None:
    node = broken_node()
    node.parts["adapters"][1]["ipv4"] = [{"address": "169.254.7.7", "prefix": 16}]
    node.hns("networks", lambda found: [])
    red = {
        text.partition(":")[0]
        for text, fill in boxes(draw(picture_of(node.scene()), "win1")).items()
        if fill == "#fde7e9"
    }
    assert red == {"vEthernet (Ethernet)", "cbr0", "10.244.3.77"}


def test_a_large_node_stays_readable() -> None:
    node = healthy()
    node.hns("endpoints", lambda found: [*found, *(endpoint(f"10.244.3.{n}") for n in range(100, 200))])
    svg = draw(picture_of(node.scene()), "win1")
    assert sum("10.244.3." in text and "/24" not in text for text in boxes(svg)) <= ROWS
    assert re.search(r"and \d+ more", svg)


def test_a_message_is_told_what_it_means_or_that_it_is_not_known() -> None:
    known = {"title": "HNS refuses a policy", "cause": "Because.", "remedy": "Mend it.", "ours": ""}
    node = {"host": "win1", "message": "0x803b000d", "causes": [], "message_means": [known]}
    assert "HNS refuses a policy. Because. Mend it." in page.as_markdown([node])
    assert "HNS refuses a policy. Because. Mend it." in page.as_html([node])
    assert "is not among those that are known" in page.as_markdown([node | {"message_means": []}])
