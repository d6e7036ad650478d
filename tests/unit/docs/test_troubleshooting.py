"""docs/troubleshooting: a page for each question of Kubernetes' pages, what is found for it, what the documents say."""

from __future__ import annotations

import re

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import page as report
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import KNOWN
from ansible_collections.winkube.node.plugins.plugin_utils.words.cause import NOTE

from .test_docs import ROOT, text_of

FOLDER = ROOT / "docs" / "troubleshooting"


def page(name: str) -> str:
    return text_of(FOLDER / f"{name}.md")


PAGES = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "README")


@pytest.mark.parametrize("name", PAGES)
def test_each_question_names_what_is_found_for_it(name: str) -> None:
    text = page(name)
    assert text.startswith(f"# {name}: ")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings == ["Found as", "What to do", "By hand"]
    table = text.partition("## Found as")[2].partition("## What to do")[0]
    rows = re.findall(r"^\| (`.+`) \| (error|warning|note) \| .+ \|$", table, re.MULTILINE)
    assert rows or "It is not a finding" in table
    for ids, kind in rows:
        for identity in re.findall(r"`([^`]+)`", ids):
            assert (KNOWN[identity].severity == NOTE) == (kind == "note"), identity
    assert "Source: " in text


def test_every_note_has_its_question_and_every_question_its_row() -> None:
    told = {each for name in PAGES for each in re.findall(r"`([a-z-]+\.[a-z-]+)`", page(name))}
    assert {each.id for each in KNOWN.values() if each.severity == NOTE} - told == {"diagnosis.stumbled"}
    linked = re.findall(r"^\| \[([^\]]+)\]\(\1\.md\) \|", page("README"), re.MULTILINE)
    assert sorted(linked) == PAGES


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
        "Search the existing issues first",
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
