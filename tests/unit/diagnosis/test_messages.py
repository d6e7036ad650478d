"""Messages that are known: in any form and language, in the ends of logs, pasted; and what is over."""

from __future__ import annotations

from datetime import timedelta

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import checks_logs, table
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.scene import Scene
from ansible_collections.winkube.node.plugins.plugin_utils.facts import messages_pasted, windows_codes
from ansible_collections.winkube.node.plugins.plugin_utils.facts.message_places import SPOKEN
from ansible_collections.winkube.node.plugins.plugin_utils.network.model import Hns
from ansible_collections.winkube.node.plugins.plugin_utils.words.finding import Finding
from ansible_collections.winkube.node.plugins.plugin_utils.words.line import parse
from ansible_collections.winkube.node.plugins.plugin_utils.words.meanings import meanings
from ansible_collections.winkube.node.plugins.plugin_utils.words.messages import MESSAGES, about, search

from tests.unit.components.nodes import LAYOUT

REFUSED = "E0512 12:{minute:02}:36.267935 6984 cni.go:1] hcnCreateEndpoint failed in Win32: refused. (0x803b000d)"


def test_there_are_enough_and_each_leads_to_a_finding_and_has_a_source() -> None:
    assert len(MESSAGES) >= 60
    assert {each.finding for each in MESSAGES} <= set(table.KNOWN)
    assert all(each.source for each in MESSAGES)


def test_what_only_logs_tell_is_told_by_some_message() -> None:
    only = set(table.KNOWN) - set(table.CHECKS) - {table.STUMBLED.id}
    told = {each.finding for each in (*MESSAGES, *messages_pasted.PARTICULAR, *messages_pasted.GENERAL)}
    assert only <= told


@pytest.mark.parametrize("form", ["(0x803b0010)", "0X803B0010", "2151350288", "-2143617008", '"ErrorCode":2151350288'])
def test_a_code_counts_in_any_form_whatever_the_language(form: str) -> None:
    assert about(f"hnsCall a échoué: Un réseau portant ce nom existe déjà. {form}") == ("hns.name-exists",)


@pytest.mark.parametrize("other", ["0x803b00100", "12151350288", "x0x803b0010"])
def test_a_part_of_a_longer_number_is_no_code(other: str) -> None:
    assert about(f"something {other} happened") == ()


def test_codes_of_hcs_with_the_bit_of_nt_and_without() -> None:
    assert windows_codes.list_forms(windows_codes.HCS_E_IMAGE_MISMATCH)[:4:3] == ("0x80370101", "0xc0370101")
    assert about("failure in a Windows system call: (0xc0370101)") == about("(0x80370101)") == ("image.mismatch",)


def test_a_reason_that_no_table_has_still_has_its_place() -> None:
    assert about("hcnCreateEndpoint failed in Win32: The moon is full. (0x803b0099)") == ("hns.refused",)
    assert about("hcs::System::Pause 12ab: The moon is full.: unknown") == ("container.refused",)


def test_a_state_gives_way_to_a_line_with_a_reason() -> None:
    reason = "hcnCreateEndpoint failed in Win32: refused. (0x803b0010)"
    found = meanings(f"web-1   0/1   ContainerCreating   0   5m\n{reason}", "win1")
    assert found[0]["id"] == "hns.name-exists"


def test_what_any_program_may_say_counts_where_it_is_known_who_says_it() -> None:
    unanswered = "dial tcp 10.0.0.1:8080: i/o timeout"
    assert parse(unanswered).operations == frozenset({"connecting"})
    assert about(unanswered) == about(f"a tool of ours: {unanswered}") == ()
    spoken = f"E0512 12:00:36.267935 6984 kubelet.go:2448] {unanswered}"
    assert SPOKEN in parse(spoken).operations
    assert about(spoken) == ("cluster.unreachable",)


def test_what_is_said_in_general_gives_way_to_a_reason_and_an_end_does_not() -> None:
    general, reason = 'plugin type="x" failed (add): odd', 'failed to find plugin "flannel" in path [c:/]'
    assert about(f"{general}\n{reason}") == ("cni.plugin-missing",)
    assert [each.finding for each in search({"containerd": f"{general}\n{reason}"})] == ["cni.plugin-missing"]
    ended = 'run.go:74] "command failed" err="the moon is full"'
    assert {each.finding for each in search({"kubelet": f"{reason}\n{ended}"})} == {
        "cni.plugin-missing",
        "start.failed",
    }


@pytest.mark.parametrize(
    "line", ["F0525 05:30:53.023140 9052 main.go:7] the moon is full", "2021-08-23 15:22:37.421 [FATAL][1] x.go 2: odd"]
)
def test_the_last_word_of_a_program_is_its_reason(line: str) -> None:
    assert [hit.finding for hit in search({"agent": line})] == ["start.failed"]


def test_a_message_that_is_not_known_is_none() -> None:
    assert about("the dog ate my kubeconfig") == ()
    assert about("") == ()


def test_a_message_broken_by_a_screen_is_known() -> None:
    assert about('Error registering network: failed to acquire lease: node\n   "w1" pod cidr\n not assigned') == (
        "node.no-pod-cidr",
    )


def test_the_quotes_of_a_log_within_a_log_do_not_matter() -> None:
    line = r"err=\"failed to find plugin \\\"flannel\\\" in path [c:\\\\opt\\\\cni\\\\bin]\""
    assert about(line) == ("cni.plugin-missing",)


def test_the_last_lines_are_kept_and_counted() -> None:
    text = "\n".join(REFUSED.format(minute=minute) for minute in range(5, 15))
    (hit,) = search({"kubelet": text})
    assert (hit.finding, hit.count, len(hit.lines)) == ("hns.policy-refused", 10, 3)
    assert hit.lines[-1] == REFUSED.format(minute=14)


def test_what_is_long_over_is_no_finding() -> None:
    assert search({"kubelet": f"{REFUSED.format(minute=1)}\nI0512 12:59:00.000001 6984 x.go:1] all is well"}) == ()


def test_what_a_program_said_before_it_worked_is_over() -> None:
    broken = 'E0512 12:01:00.000001 1 main.go:1] Error registering network: node "w1" pod cidr not assigned'
    well = "I0512 12:02:00.000001 1 main.go:1] Wrote subnet file to /run/flannel/subnet.env"
    assert [hit.finding for hit in search({"flanneld": broken})] == ["node.no-pod-cidr"]
    assert search({"flanneld": f"{broken}\n{well}"}) == ()
    assert [hit.finding for hit in search({"flanneld": f"{well}\n{broken}"})] == ["node.no-pod-cidr"]


def test_that_the_cluster_was_out_of_reach_is_over_when_it_was_reached_in_whatever_program() -> None:
    denied = "E0512 12:01:00.000001 1 reflector.go:1] failed to list: dial tcp 10.0.0.1:6443: i/o timeout"
    synced = "I0512 12:02:00.000001 1 shared_informer.go:318] Caches are synced for service config"
    assert [hit.finding for hit in search({"kube-proxy": denied})] == ["cluster.unreachable"]
    assert search({"kube-proxy": f"{denied}\n{synced}"}) == ()
    assert [hit.finding for hit in search({"kube-proxy": f"{synced}\n{denied}"})] == ["cluster.unreachable"]


def test_what_a_program_tried_again_is_over_when_its_log_is_quiet_by_the_nodes_clock() -> None:
    """The last line of a log is not a measure where the program went on for hours without a word."""
    tried, started = REFUSED.format(minute=1), 'run.go:74] "command failed" err="the moon is full"'
    said = {"kubelet": f"{tried}\n{started}"}
    assert {hit.finding for hit in search(said)} == {"hns.policy-refused", "start.failed"}
    after = search(said, quiet={"kubelet": timedelta(hours=3)})
    assert [hit.finding for hit in after] == ["start.failed"], "what it said of its start holds as long as it runs"
    assert len(search(said, quiet={"kubelet": timedelta(minutes=3)})) == 2


def test_what_a_kubelet_said_before_its_node_was_ready_explains_nothing() -> None:
    said = {"kubelet": "dial tcp 10.0.0.1:6443: i/o timeout", "flanneld": "dial tcp 10.0.0.1:6443: i/o timeout"}
    assert [hit.program for hit in search(said)] == ["kubelet", "flanneld"]
    assert [hit.program for hit in search(said, working=("kubelet",))] == ["flanneld"], (
        "another program has its own way"
    )


def test_logs_of_nssm_in_utf_16_read_as_text_with_zeros() -> None:
    text = "\x00".join("unknown flag: --pod-infra-container-image")
    assert [hit.finding for hit in search({"kubelet": text})] == ["start.unknown-flag"]


def test_the_lines_join_the_finding_that_the_machine_showed() -> None:
    """One fault is one finding, with the log as its evidence."""
    line = "E0628 16:57:08.673912 1180 proxier.go:564] Unable to find HNS Network specified by cbr0."
    scene = Scene(Node.unknown(LAYOUT, network_name="cbr0"), Hns(), logs={"kube-proxy": line})
    found = [each for each in table.findings_in(scene) if each.id == "hns.no-network"]
    assert len(found) == 1
    assert line in found[0].evidence
    assert found[0].subject == "network cbr0"


def test_why_a_program_ended_stands_above_that_it_ended() -> None:
    line = "unknown flag: --a"
    scene = Scene(Node.unknown(LAYOUT), Hns(), logs={"kubelet": line})
    (flag,) = checks_logs.with_logs((), scene, table.KNOWN)
    assert flag.id == "start.unknown-flag"
    crashes = Finding(table.KNOWN["kubelet.crashes"], checks_logs._as_seen(search({"kubelet": line})[0]))
    report = table.report_of((crashes, flag))
    assert [cause.finding.id for cause in report.causes] == ["start.unknown-flag"]
    assert [each.id for each in report.causes[0].consequences] == ["kubelet.crashes"]


def test_two_that_explain_each_other_leave_one_cause() -> None:
    """Both had the other as their root, and the report had neither."""
    one, other = table.KNOWN["kubelet.crashes"], table.KNOWN["kubelet.stopped"]
    seen = checks_logs._as_seen(search({"x": "unknown flag: --a"})[0])
    assert len(table.report_of((Finding(one, seen), Finding(other, seen))).causes) == 1


def test_what_hns_shows_stands_before_what_a_log_says_of_the_moment_that_it_broke() -> None:
    """The switch was deleted: kube-proxy's way to the API server broke with it, and its last line says so."""
    line = "E0628 16:57:08.673912 1180 reflector.go:1] failed to list: dial tcp 10.0.0.1:6443: i/o timeout"
    scene = Scene(Node.unknown(LAYOUT, network_name="vxlan0"), Hns(), logs={"kube-proxy": line})
    report = table.report_of(table.findings_in(scene))
    assert [cause.finding.id for cause in report.causes][:1] == ["hns.no-network"]
    assert "cluster.unreachable" in [each.id for each in report.findings]


def test_one_line_of_a_log_drains_or_rejoins_nothing() -> None:
    line = (
        "E0101 01:00:0{0}.1 {0} reflector.go:1] Get https://a:6443/api: x509: certificate signed by unknown authority"
    )
    nothing, hns = Node.unknown(LAYOUT), Hns()
    (one,) = checks_logs.with_logs((), Scene(nothing, hns, logs={"kubelet": line.format(1)}), table.KNOWN)
    assert (one.id, one.remedy.plain[:8]) == ("cluster.wrong-ca", "curl.exe")
    twice = f"{line.format(1)}\n{line.format(2).replace('//a:', '//b:')}"
    (two,) = checks_logs.with_logs((), Scene(nothing, hns, logs={"kubelet": twice}), table.KNOWN)
    assert two.remedy == table.KNOWN["cluster.wrong-ca"].remedy


def test_a_panic_after_a_long_line_of_a_log_is_a_message_of_its_own() -> None:
    head = f'time="2026-01-14T09:40:02Z" level=info msg="Starting the agent of release {"1" * 40}"'
    assert about(f"{head}\npanic: runtime error: invalid memory address") == ("start.panic",)


def test_a_line_of_logrus_on_a_terminal_has_its_level_and_no_head_in_its_reason() -> None:
    line = parse("FATA[2026-02-02T11:40:09Z] nothing is ready")
    assert (line.form, line.level, line.chain) == ("logrus", "fatal", ("nothing is ready",))


def test_memory_that_a_service_asks_for_is_not_hns() -> None:
    said = "service-specific error: Not enough memory resources are available to process this command. (8)"
    assert "hns.ports-exhausted" not in about(said)
    asked = "hcnCreateLoadBalancer failed in Win32: Not enough memory resources are available. (0x8007000e)"
    assert about(asked) == ("hns.ports-exhausted",)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("The command 'cmd /S /C a.exe' returned a non-zero code: 2148734499", "running a program"),
        ("Cannot find path 'C:\\k\\a.json' because it does not exist.", "PowerShell, running a cmdlet"),
        ('Error: Code="BadPassword" Message="Invalid adminPassword."', "asking the cloud's API"),
        (
            "rename C:\\d\\windowsfilter\\3c11 C:\\d\\windowsfilter\\3c11-removing: Access is denied.",
            "removing an image",
        ),
        ('Failed to hot attach HNS Endpoint "a": The parameter is incorrect.', "HNS, attaching an endpoint"),
        ("hcnOpenNamespace failed in Win32: Element not found. (0x490)", "HNS, opening HNS's namespace of a pod"),
    ],
)
def test_what_has_no_known_cause_has_its_own_place(line: str, place: str) -> None:
    found = meanings(line, "win1")
    assert found[0]["cause"].startswith("Not known: ")
    assert place in found[0]["cause"]


BOOTSTRAP = 'is forbidden: User "system:bootstrap:k2jx0p" cannot'
REFUSED_DIAL = "connectex: No connection could be made because the target machine actively refused it."


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (
            f'failed to get config map: configmaps "kubeadm-config" {BOOTSTRAP} get resource "configmaps"',
            "join.bindings",
        ),
        (f'certificatesigningrequests.certificates.k8s.io {BOOTSTRAP} create resource "x"', "join.bindings"),
        (f'nodes "win1" {BOOTSTRAP} get resource "nodes" in API group "" at the cluster scope', "join.bindings"),
        (
            "error execution phase preflight: unable to fetch the kubeadm-config ConfigMap: failed to get config map: "
            'configmaps "kubeadm-config" not found',
            "join.not-kubeadm",
        ),
        (
            'could not download the kubelet configuration from ConfigMap "kubelet-config": configmaps "kubelet-config" '
            "not found",
            "join.not-kubeadm",
        ),
        (
            '[discovery] Failed to request cluster-info, will try again: configmaps "cluster-info" is forbidden: User '
            '"system:anonymous" cannot get resource "configmaps" in API group "" in the namespace "kube-public"',
            "join.anonymous",
        ),
        ("Abort reading the cluster-info ConfigMap after timeout of 5m0s: Unauthorized", "join.anonymous"),
        ("[discovery] Failed to request cluster-info, will try again: Unauthorized", "join.anonymous"),
        ("failed to verify JWS signature of received cluster info object, can't trust this API Server", "join.token"),
        ("could not find authentication credentials for the TLS bootstrap process. Please use", "join.no-credentials"),
        (
            "http: TLS handshake error from 10.0.0.9:5: tls: client offered only unsupported versions: [303]",
            "cluster.tls-version",
        ),
        (
            'Get "https://10.0.0.21:10250/metrics": remote error: tls: protocol version not supported',
            "cluster.tls-version",
        ),
        (f'Get "https://127.0.0.1:6443/api/v1/nodes": dial tcp 127.0.0.1:6443: {REFUSED_DIAL}', "cluster.own-address"),
        (
            "The connection to the server localhost:6443 was refused - did you specify the right host",
            "cluster.own-address",
        ),
        ("invalid configuration: defaultPodSysctls is not supported on Windows", "start.kubelet-config"),
        (r"failed to load kubelet dropin file, path: C:\k\x.conf, no apiVersion/kind", "start.kubelet-config"),
        ("cannot set feature gate WinDSR to false, feature is locked to true", "start.feature-gate"),
    ],
)
def test_what_upstream_says_where_a_node_and_its_cluster_do_not_fit(line: str, cause: str) -> None:
    """In the texts of kubelet, kubeadm, the API server and Go; each cause names the ConfigMap, file or flag."""
    assert about(line) == (cause,)
    remedy = table.KNOWN[cause].remedy.plain
    named = ("ConfigMap", "config", "kubeadm", "winkube_", "examples/rbac", "tlsMinVersion", "tlsBootstrapToken")
    assert any(word in remedy for word in named)


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (
            "Error: failed to create containerd container: rootpath on mountPath C:\\snap\\12, volume \\data: "
            "CreateFile C:\\snap\\12\\data: The system cannot find the path specified.",
            "volume.of-image",
        ),
        (
            "Error response from daemon: error while creating mount source path 'c:\\pods\\v': mkdir c:\\pods\\v: "
            "Cannot create a file when that file already exists.",
            "volume.path-missing",
        ),
        (
            'server.go:495] "Error running ProxyServer" err="CreateFile C:\\kube-proxy\\kubeconfig.conf: The system '
            'cannot find the path specified."',
            "start.kubeconfig",
        ),
        (
            "container a encountered an error during hcsshim::System::CreateProcess: failure in a Windows system call: "
            "This user can't sign in because this account is currently disabled. (0x533)",
            "container.user",
        ),
        ("Multus: error: HostComputeNetwork 1a_vxlan0 is already existed", "hns.endpoint-exists"),
    ],
)
def test_what_upstream_prints_for_one_reason_has_that_cause(line: str, cause: str) -> None:
    assert about(line)[:1] == (cause,)


def test_the_nodes_own_refusals_keep_their_causes() -> None:
    assert about(f"dial tcp 127.0.0.1:10248: {REFUSED_DIAL}") == ("host.no-listener",)
    assert about('secrets "x" is forbidden: User "system:node:win1" cannot get resource "secrets"') == (
        "cluster.denied",
    )


@pytest.mark.parametrize(
    "spoken", ["New-SmbGlobalMapping : refused. Windows System Error {0}", "System error {0} has occurred."]
)
@pytest.mark.parametrize(
    ("codes", "cause"),
    [
        ((1326, 1327, 1328, 1330, 1331, 1907, 1909), "volume.share-password"),
        ((1385,), "volume.share-denied"),
        ((1311, 1355, 1396), "volume.share-domain"),
    ],
)
def test_a_refused_logon_to_a_share_is_told_by_its_code(spoken: str, codes: tuple[int, ...], cause: str) -> None:
    assert {about(spoken.format(code)) for code in codes} == {(cause,)}


@pytest.mark.parametrize(
    "line",
    [
        "Subnet pods with address prefix 10.1.0.0/24 does not have enough capacity for 16 IP addresses.",
        "Pre-allocated IPs 310 exceeds IPs available 251 in Subnet Cidr 10.1.0.0/24",
        "[IP_SPACE_EXHAUSTED] IP space of 'projects/p/regions/r/subnetworks/s' is exhausted.",
    ],
)
def test_the_used_up_range_of_a_cloud_is_told(line: str) -> None:
    assert about(line) == ("cni.addresses-used-up",)


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("failed to run Kubelet: unable to determine runtime API version: only support tcp and npipe endpoint", "pipe"),
        (r"validate service connection: parse endpoint: protocol \"unix\" not supported", "pipe"),
        (
            'validate service connection: validate CRI v1 image API for endpoint "npipe:////./pipe/own": rpc error: '
            'desc = "transport: Error while dialing: open //./pipe/own: The system cannot find the path specified."',
            "pipe",
        ),
        (
            'validate service connection: validate CRI v1 runtime API for endpoint "npipe:////./pipe/own": rpc error: '
            "code = Unimplemented desc = unknown service runtime.v1.RuntimeService",
            "api",
        ),
        (
            "FATA[0010] connect: connect endpoint 'npipe:////./pipe/own', make sure you are running as root and the "
            "endpoint has been started: context deadline exceeded",
            "pipe",
        ),
    ],
)
def test_an_endpoint_in_another_form_is_kubelets_way_to_containerd(line: str, cause: str) -> None:
    assert about(line) == (f"start.runtime-{cause}",)


def test_anonymous_discovery_is_told_in_the_transports_words() -> None:
    url = "https://10.0.0.1:6443/api/v1/namespaces/kube-public/configmaps/cluster-info"
    assert about(f"GET {url} 401 Unauthorized in 3 milliseconds") == ("join.anonymous",)


def test_an_endpoint_that_exists_already_is_told_in_each_programs_words() -> None:
    for spoken in ("hcnCreateEndpoint", "failed to create the new HNSEndpoint"):
        line = f"{spoken}: hnsCall failed in Win32: The object already exists. (0x1392)"
        assert about(line) == ("hns.endpoint-exists",)


@pytest.mark.parametrize(
    "line",
    [
        "no matching manifest for windows/amd64 10.0.20348 in the manifest list entries",
        'failed to pull and unpack image "docker.io/library/nginx:1": no match for platform in manifest: not found',
        'image operating system "linux" cannot be used on this platform',
    ],
)
def test_an_image_of_linux_is_told(line: str) -> None:
    assert about(line) == ("image.platform",)
