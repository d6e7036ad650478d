"""docs/troubleshooting: a page for each check, in the order in which one should look, with what the documents say."""

from __future__ import annotations

import re

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.troubleshoot import report
from ansible_collections.winkube.node.plugins.plugin_utils.troubleshoot.model import WORDS, Check
from ansible_collections.winkube.node.plugins.plugin_utils.troubleshoot.table import CHECKS

from .test_docs import ROOT, text_of

FOLDER = ROOT / "docs" / "troubleshooting"


def page(name: str) -> str:
    return text_of(FOLDER / f"{name}.md")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: str(check.id))
def test_each_check_has_its_page(check: Check) -> None:
    text = text_of(ROOT / check.page)
    assert text.startswith(f"# {check.id}: {check.title}\n")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings == ["What is looked at", "Verdict", "What to do", "By hand"]
    table = text.partition("## Verdict")[2].partition("## What to do")[0]
    verdicts = re.findall(r"^\| ([a-z ]+?) \| (?!when)", table, re.MULTILINE)
    assert set(verdicts) <= set(WORDS.values())
    assert len(verdicts) == len(set(verdicts)) >= 2
    for piece in check.says:
        assert f"`{piece}`" in text
    assert "Source: " in text


def test_there_is_no_page_too_many() -> None:
    names = {path.stem for path in FOLDER.glob("*.md")}
    assert names == {check.id for check in CHECKS} | {"README"}
    linked = re.findall(r"^\| \[([^\]]+)\]\(\1\.md\) \|", page("README"), re.MULTILINE)
    assert linked == [check.id for check in CHECKS]


@pytest.mark.row("TS-19")
def test_the_general_page_comes_first_then_windows_then_logs_then_people() -> None:
    text = page("README")
    order = [
        "https://kubernetes.io/docs/tasks/debug/",
        "what is particular to Windows",
        "The logs",
        "#sig-windows",
    ]
    places = [text.index(piece) for piece in order]
    assert places == sorted(places)
    assert "Begin with the general page, <https://kubernetes.io/docs/tasks/debug/>" in page("services.logs")
    assert report.as_markdown([]).index("https://kubernetes.io/docs/tasks/debug/") < report.as_markdown([]).index(
        "#sig"
    )


@pytest.mark.row("TS-20")
def test_where_help_is() -> None:
    text = page("help")
    for piece in (
        "`#sig-windows` on the Kubernetes Slack",
        "https://slack.k8s.io",
        "`/sig windows`",
        "issues that there are first",
    ):
        assert piece in text
    for fact in ("Kubernetes version", "Windows", "container runtime", "network", "steps to reproduce"):
        assert fact in text


@pytest.mark.row("HP-06", "TS-07")
def test_mac_spoofing_on_all_adapters_of_a_virtual_machine() -> None:
    text = page("host.mac-spoofing")
    assert "MAC spoofing is enabled on all the machine's network adapters" in text
    assert "Set-VMNetworkAdapter -VMName <machine> -MacAddressSpoofing On" in text


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("services.state", ("sc.exe query kubelet", "sc.exe start kubelet", "blank behind the equals sign")),
        ("services.output", ("nssm.exe set kubelet AppStdout", "nssm.exe set kubelet AppStderr")),
        ("pod.stuck", ("adjust the images", "version 1803")),
        ("traffic.outside", ("no outbound rules for ICMP", "`curl`")),
        ("traffic.node-port", ("does not reach NodePorts of its own", "Other nodes and external clients do")),
        ("kube-proxy.hostname-override", ("--hostname-override=$(hostname)",)),
        ("node.earlier-life", (r"Remove-Item C:\k\SourceVip.json", r"Remove-Item C:\k\SourceVipRequest.json")),
        ("flannel.lease", ("FLANNEL_SUBNET=10.244.4.1/24", "First restart flanneld")),
        ("traffic.service-ip", ("the host does not reach service addresses", "Windows pods do")),
        (
            "host.adapter",
            ('Get-HnsNetwork | ? Name -ieq "cbr0"', 'Get-NetAdapter | ? Name -Like "vEthernet (Ethernet*"'),
        ),
        ("traffic.names", ("one DNS suffix", "`web.default` does not")),
        ("pod.port-forward", ("Kubernetes 1.15", "pause image 1.4.1", "wincat.exe")),
        ("host.proxy", ('SetEnvironmentVariable("HTTP_PROXY"', 'SetEnvironmentVariable("HTTPS_PROXY"', "Machine")),
        ("pod.cpu-zero", ("https://github.com/containerd/containerd/issues/9531", "containerd 1.7")),
        ("services.exit-codes", ("WIN32_EXIT_CODE and SERVICE_EXIT_CODE", "unchanged")),
    ],
)
def test_a_page_has_what_the_documents_say(name: str, pieces: tuple[str, ...]) -> None:
    text = page(name)
    assert [piece for piece in pieces if piece not in text] == []
