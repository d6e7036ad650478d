"""What people paste: many lines at once, structure, and places without a cause."""

from __future__ import annotations

import functools
import random
import re

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.words.line import parse
from ansible_collections.winkube.node.plugins.plugin_utils.words.meanings import meanings, message_lines
from ansible_collections.winkube.node.plugins.plugin_utils.words.messages import MESSAGES, about
from ansible_collections.winkube.node.plugins.plugin_utils.words.over import OVER, REACHED
from ansible_collections.winkube.node.plugins.plugin_utils.words.records import records
from ansible_collections.winkube.node.plugins.plugin_utils.words.scan import Scanner, words_of

from tests.judge.case import Case, load

PASTED = [case for case in load("cases") if case.data.get("message") and case.first]
HEALTHY = [text for case in load("healthy") for text in (case.data.get("logs") or {}).values()]
EXCERPTS = [str(case.data["message"]) for case in load("healthy") if case.data.get("message")]


@functools.cache
def harmless() -> list[str]:
    """Lines of healthy nodes by which nothing is wrong, and none that a fault before it is over."""
    lines = [line for text in HEALTHY for line in text.splitlines() if line.strip() and not about(line)]
    return [line for line in lines if not any(each.search(line) for each in (*OVER.values(), REACHED))]


@pytest.mark.exhaustive(but_one_in=4)
@pytest.mark.parametrize("case", PASTED, ids=lambda case: case.name)
def test_harmless_lines_around_a_message_do_not_change_the_first_answer(case: Case) -> None:
    chance = random.Random(case.name)
    before, after = chance.sample(harmless(), 10), chance.sample(harmless(), 10)
    text = "\n".join([*before, "", str(case.data["message"]).strip(), "", *after])
    assert about(text)[:1] == (case.first,)


@pytest.mark.parametrize("text", [*HEALTHY, *EXCERPTS], ids=range(len(HEALTHY) + len(EXCERPTS)))
def test_a_healthy_log_that_is_pasted_is_no_alarm(text: str) -> None:
    assert about(text) == ()


def test_a_code_may_have_zeros_before_it() -> None:
    assert parse("Windows System Error 05").innermost.code == "5"


@pytest.mark.slow
@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_the_words_of_each_pattern_stand_in_what_it_fits(every: int) -> None:
    without = [each.pattern for each in MESSAGES if words_of(each.pattern) is None]
    assert without == [r"^F\d{4} \d\d:\d\d:\d\d"]
    assert words_of("(?:ab)?cdef|gh+ijk") == ("cdef", "ijk")
    texts = [str(case.data["message"]) for case in PASTED[::every]]
    plain = [[n for n, m in enumerate(MESSAGES) if re.search(m.pattern, text, re.I)] for text in texts]
    scanner = Scanner(each.pattern for each in MESSAGES)
    assert [scanner.list_fits(text) for text in texts] == [[each] for each in plain]


def test_a_line_continues_only_what_cannot_stand_alone() -> None:
    text = "New-X : odd\nAt C:\\a.ps1:1 char:2\n+ New-X\n    + CategoryInfo : no\nE0101 01:01:01.1 1 a.go:1] x\n\ttail"
    assert [each.number for each in records(text)] == [1, 5]


SMB = (
    'E0512 12:00:01.000001 7 nestedpendingoperations.go:335] "MountVolume.MountDevice failed" err="rpc error: code = '
    "Internal desc = volume(a) mount on smb.csi.k8s.io failed with NewSmbGlobalMapping failed. output: {}"
)


@pytest.mark.parametrize(
    ("line", "program", "operation", "reason"),
    [
        (SMB.format("Windows System Error 1219"), "kubelet", "mounting an SMB share", ("windows", "1219")),
        (SMB.format("Zugriff verweigert"), "kubelet", "mounting an SMB share", ("windows", "5")),
        (
            "Warning  FailedMount  2m (x3 over 9m)  kubelet  MountVolume.SetUp failed for volume: Access is denied.",
            *("kubelet", "mounting a volume", ("windows", "5")),
        ),
        ("hcnCreateEndpoint failed in Win32: odd (0x803b0099)", "HNS", "making an endpoint", ("hcn", "0x803b0099")),
        (
            'time="2024-01-01T00:00:00Z" level=error msg="PullImage \\"a\\" failed" error="dial tcp: i/o timeout"',
            *("containerd", "pulling an image", ("net", "")),
        ),
    ],
)
def test_a_line_is_program_operation_and_innermost_reason(
    line: str, program: str, operation: str, reason: tuple[str, str]
) -> None:
    found = parse(line)
    assert (found.speaker, found.operation) == (program, operation)
    assert (found.innermost.kind, found.innermost.code) == reason


@pytest.mark.parametrize(
    ("finding", "line"),
    [
        ("cluster.wrong-ca", 'failed calling webhook "a.b": x509: certificate signed by unknown authority'),
        ("container.user", SMB.format("The user name or password is incorrect.")),
        ("start.port-in-use", "listen unix C:\\kubelet.sock: bind: Only one usage of each socket address"),
    ],
)
def test_words_of_another_speaker_do_not_lead_to_the_finding(finding: str, line: str) -> None:
    assert finding not in about(line)


def test_a_place_without_a_cause_is_said_with_the_line_first() -> None:
    line = "hcnCreateEndpoint failed in Win32: The moon is full. (0x803b0099)"
    (said,) = meanings(line, "win1")
    assert said["title"] == line
    assert said["cause"].startswith("Not known: HNS, making an endpoint: HNS 0x803b0099")
    assert (said["ours"], "hnsdiag" in said["remedy"]) == ("", True)


def test_one_line_does_not_drain_or_rejoin_a_node() -> None:
    line = "E0101 01:00:0{}.1 1 reflector.go:{}] Get https://a: x509: certificate signed by unknown authority"
    (one,) = meanings(line.format(1, 1), "win1")
    assert one["id"] == "cluster.wrong-ca"
    assert one["remedy"].startswith("curl.exe")
    (again,) = meanings("\n".join([line.format(1, 1), line.format(2, 2)]), "win1")
    assert again["remedy"] == one["remedy"]
    (two,) = meanings("\n".join([line.format(1, 1), line.format(2, 2).replace("//a:", "//b:")]), "win1")
    assert two["remedy"].startswith("Compare certificate-authority-data")


def test_an_endpoint_that_is_attached_is_no_disk() -> None:
    (one,) = meanings("Unable to hot attach bridge endpoint: hnsCall failed in Win32: odd (0x803b0099)", "win1")
    assert one["remedy"].startswith("Compare hnsdiag")


def test_what_a_message_means_is_printed_without_a_node() -> None:
    (said,) = message_lines("hcnCreateEndpoint failed in Win32: The moon is full. (0x803b0099)")
    assert said.startswith("Your message: hcnCreateEndpoint")
    assert message_lines("") == []
    assert message_lines("the dog ate my kubeconfig") == [
        "Your message is not known, neither its place nor a code in it."
    ]


STRANGE = "E0512 12:00:01.100000 12 kubelet.go:9] failed to list *v1.Node: Get https://10.0.0.1:6443/api/v1/nodes: "
REACHES = "I0512 12:00:09.100000 12 {}:9] Caches are synced"


@pytest.mark.parametrize(
    ("reason", "file", "over"),
    [
        ("dial tcp 10.0.0.1:6443: connect: connection refused", "kubelet.go", True),
        ("dial tcp 10.0.0.1:6443: connect: connection refused", "proxier.go", False),
        ("x509: certificate signed by unknown authority", "kubelet.go", True),
        ("x509: certificate signed by unknown authority", "proxier.go", False),
    ],
)
def test_another_program_that_reaches_the_api_server_says_nothing_of_this_one(
    reason: str, file: str, over: bool
) -> None:
    assert (about(f"{STRANGE}{reason}\n{REACHES.format(file)}") == ()) == over


REFUSED = "E0512 12:00:0{}.1 7 proxier.go:9] hcnCreateEndpoint failed in Win32: refused. (0x803b000d)"


@pytest.mark.parametrize("mark", ["> ", ">> ", "- ", "* ", "  - "])
def test_lines_of_a_mail_or_a_list_are_records(mark: str) -> None:
    text = "\n".join(f"{mark}{REFUSED.format(each)}" for each in range(3))
    assert [each.text for each in records(text)] == [REFUSED.format(each) for each in range(3)]


def test_what_a_page_has_escaped_is_read() -> None:
    said = "MountVolume.SetUp failed for volume &quot;a&quot; : references non-existent secret key: b &lt;x&gt;"
    assert about(said) == about(said.replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">")) != ()
