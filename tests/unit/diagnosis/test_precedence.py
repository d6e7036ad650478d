"""Which row of those that fit a line tells its cause: by who called, by the innermost reason, by what was being done.

The lines are written by hand, with the format strings of the programs that are named.
"""

from __future__ import annotations

from random import Random

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts.callers import CALLERS, excluded
from ansible_collections.winkube.node.plugins.plugin_utils.facts.message import ANY, Message, Rule
from ansible_collections.winkube.node.plugins.plugin_utils.facts.message_places import PULL
from ansible_collections.winkube.node.plugins.plugin_utils.words import causes, messages
from ansible_collections.winkube.node.plugins.plugin_utils.words.meanings import meanings
from ansible_collections.winkube.node.plugins.plugin_utils.words.messages import MESSAGES, about
from ansible_collections.winkube.node.plugins.plugin_utils.words.precedence import KINDS, decide
from ansible_collections.winkube.node.plugins.plugin_utils.words.scan import Scanner

from tests.judge.__main__ import SETS
from tests.judge.__main__ import texts as unseen
from tests.judge.case import load

PULLED = 'Failed to pull image "r.example/a:1": failed to resolve reference "r.example/a:1": failed to authorize: '
TOKEN = f'{PULLED}failed to fetch anonymous token: Get "https://auth.example/token?scope=x": '
SANDBOX = 'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "1ab2": '
REFUSED = "hcnCreateEndpoint failed in Win32: An address provided is invalid or reserved. (0x803b002f)"
ASKED = 'Get "https://10.96.0.1:443/api/v1/namespaces/default/pods/web": '
STRANGE = "x509: certificate signed by unknown authority"
IN_USE = (
    "hnsCall failed in Win32: The process cannot access the file because it is being used by another process. (0x20)"
)

CASES = (
    # Behind an outer word that a registry's refusal has as well stands why there was no answer
    (f"{TOKEN}read tcp 10.0.0.9:5012->10.0.0.1:443: wsarecv: An existing connection was forcibly closed by the remote "
     "host.", "image.registry-unreachable"),
    (f"{TOKEN}EOF", "image.registry-unreachable"),
    (f"{TOKEN}dial tcp: lookup auth.example: no such host", "image.registry-unreachable"),
    (f"{PULLED}failed to fetch anonymous token: unexpected status from GET request to https://auth.example/token: 403 "
     "Forbidden", "image.registry-denied"),
    # The type of the plugin names the configuration, whatever HNS says
    (f'{SANDBOX}plugin type="nat" name="nat" failed (add): error creating endpoint {REFUSED}', "cni.pods-on-nat"),
    (f"E1120 10:00:00.1 1 proxier.go:150] Source Vip endpoint creation failed: {REFUSED}", "kube-proxy.source-vip"),
    # A plugin asks with its own kubeconfig, a kubelet with the node's
    (f'{SANDBOX}plugin type="calico" failed (add): error getting ClusterInformation: {ASKED}{STRANGE}',
     "cni.plugin-denied"),
    (f"Multus: [default/web]: error getting pod: {ASKED}{STRANGE}", "cni.plugin-denied"),
    (f"E1120 10:00:00.1 1 kubelet.go:150] Failed to get pods: {ASKED}{STRANGE}", "cluster.wrong-ca"),
    # The account of a pod is not the node's login
    ('E1120 10:00:00.1 1 reflector.go:150] failed to list *v1.Pod: pods is forbidden: User "system:serviceaccount:a:b" '
     'cannot list resource "pods"', ""),
    ('E1120 10:00:00.1 1 reflector.go:150] failed to list *v1.Node: nodes is forbidden: User '
     '"system:serviceaccount:kube-flannel:flannel" cannot list resource "nodes"', "cluster.denied"),
    ('E1120 10:00:00.1 1 reflector.go:150] failed to list *v1.Node: nodes is forbidden: User "system:node:a" cannot '
     'list resource "nodes"', "cluster.denied"),
    # Docker knows no Service
    (f"docker: Error response from daemon: failed to create endpoint web on network nat: {IN_USE}",
     "start.port-in-use"),
    # By its outer words: upstream's function fails for nothing else
    ("E1120 10:00:00.1 1 main.go:300] Error registering network: failed to get management IP from HNSNetwork: Element "
     "not found. (0x490)", "hns.no-management-address"),
    # A sentence stands over the reason that it names, and over one that nobody knows
    (f'{SANDBOX}plugin type="flannel" failed (add): loadFlannelSubnetEnv failed: open /run/flannel/subnet.env: The '
     "system cannot find the file specified.", "flannel.no-subnet-env"),
    (f'{SANDBOX}plugin type="flannel" failed (add): loadFlannelSubnetEnv failed: odd', "flannel.no-subnet-env"),
    # A code of gRPC at the end is no reason of its own
    ('Failed to pull image "r.example/a:1": no match for platform in manifest: not found', "image.platform"),
    # Words that only a person pastes are one row with those of logs
    ("Error: could not create the forwarder: wincat.exe: executable file not found in %PATH%", "pod.port-forward"),
    ('Warning FailedCreatePodSandBox 1m kubelet NetworkPlugin is not ready: cni config uninitialized', "cni.absent"),
)  # fmt: skip


@pytest.mark.parametrize(("line", "cause"), CASES)
def test_the_cause_is_the_innermost_that_the_caller_can_have(line: str, cause: str) -> None:
    """Empty: the place, and no cause."""
    found = [each for each in meanings(line, "win1") if not each["cause"].startswith("Not known")]
    assert [each["id"] for each in found] == [cause] * bool(cause)


OUTER = Message("a.outer", "outer failed", "a source")
NAMED = Message("a.outer", "outer failed", "a source", over=("a.inner",))
ALONE = Message("a.outer", "outer failed", "a source", over=ANY)
INNER = Rule("a.inner", ("inner reason",), "a source")
PULLING = Rule("a.inner", ("inner reason",), "a source", doing=(PULL,))
LAST = Rule("a.last", ("last reason",), "a source")
LONGER = Rule("a.longer", ("the inner reason",), "a source")
OVER = Rule("a.over", ("first reason",), "a source", over=("a.inner",))
PLACE_WORDS = "error registering network"
PLACE = next(each for each in KINDS[-2] if isinstance(each, Message) and PLACE_WORDS in each.pattern.casefold())


@pytest.mark.parametrize(
    ("line", "rows", "cause"),
    [
        ("outer failed: inner reason", (OUTER, INNER), "a.inner"),
        ("outer failed: inner reason", (NAMED, INNER), "a.outer"),
        ("outer failed: inner reason", (ALONE, INNER), "a.outer"),
        ("inner reason: outer failed", (OUTER, INNER), "a.outer"),
        ("outer failed: inner reason", (OUTER, PULLING), "a.outer"),
        ("outer failed: inner reason: Failed to pull image", (OUTER, PULLING), "a.inner"),
        ("inner reason", (PULLING,), ""),
        # Of two reasons the innermost; of two in one place the one that explains more
        ("inner reason: last reason", (INNER, LAST), "a.last"),
        ("last reason: inner reason", (INNER, LAST), "a.inner"),
        ("inner reason", (INNER, LONGER), "a.inner"),
        ("the inner reason", (INNER, LONGER), "a.longer"),
        # One that names the other stands over it, wherever they stand
        ("first reason: inner reason", (INNER, OVER), "a.over"),
        # Outer words stand over no reason
        (f"{PLACE_WORDS}: inner reason", (INNER, PLACE), "a.inner"),
    ],
)
def test_a_sentence_gives_way_to_a_reason_behind_it_that_a_row_knows(
    line: str, rows: tuple[Message | Rule, ...], cause: str
) -> None:
    for order in (rows, rows[::-1]):
        said = decide(line, order)
        assert (said.finding if said else "") == cause


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_order_of_the_tables_says_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = [case.data.get("message") for case in load("cases")]
    judged += [each["message"] for name in SETS for each in unseen(name)]
    texts = sorted({str(each) for each in judged if each})
    before = [messages.explain_text(text) for text in texts]
    rows = Random(seed).sample(messages._ROWS, len(messages._ROWS))
    monkeypatch.setattr(messages, "_ROWS", tuple(rows))
    monkeypatch.setattr(messages, "_SCANNER", Scanner([each.pattern for each in rows], *messages._ENDS))
    assert [messages.explain_text(text) for text in texts] == before


def test_what_a_caller_cannot_have_are_causes() -> None:
    for caller in CALLERS:
        for beginning in caller.never:
            assert any(each.startswith(beginning) for each in causes.CAUSES), (caller.name, beginning)


def test_who_did_not_say_so_is_excluded_from_nothing() -> None:
    assert excluded("E1120 10:00:00.1 1 kubelet.go:150] odd") == ()


@pytest.mark.parametrize(
    ("account", "own"),
    [
        ("kube-system:kube-proxy", True),
        ("own-network:flannel", True),
        ("calico-system:calico-node", True),
        ("kube-system:persistent-volume-binder", True),
        ("kube-flannel:default", False),
        ("shop:web", False),
    ],
)
def test_an_account_is_no_pods_with_the_name_of_a_nodes_program_or_in_kube_system(account: str, *, own: bool) -> None:
    assert (excluded(f'User "system:serviceaccount:{account}" cannot list nodes') == ()) == own


def test_a_row_stands_over_causes() -> None:
    for each in MESSAGES:
        if each.over != ANY:
            assert set(each.over) <= set(causes.CAUSES), each.finding


SILENT = (
    'time="2026-11-20T10:00:00Z" level=warning msg="Failed to connect to proxy. Empty dialer response" error="dial tcp '
    "10.0.0.4:6443: connectex: A connection attempt failed because the connected party did not properly respond after "
    'a period of time, or established connection failed because connected host has failed to respond."'
)


def test_how_a_command_in_a_container_ended_stands_behind_what_an_agent_says() -> None:
    ended = 'error: command terminated with exit code 126: exec failed: exec: "sh": executable file not found in %PATH%'
    assert about(f"{SILENT}\n{ended}")[:1] == about(f"{ended}\n{SILENT}")[:1] == ("cluster.unreachable",)


@pytest.mark.parametrize(
    "hint",
    [
        "To see the stack trace of this error execute with --v=5 or higher",
        "See 'docker run --help'.",
        "npm WARN deprecated request@2.88.2: unknown flag: --x",
        "C:\\src\\app.csproj(12,3): warning NU1701: failed to restore: access is denied",
        "[WARNING] connection refused",
    ],
)
def test_what_a_program_hints_at_and_a_build_warns_of_is_not_read(hint: str) -> None:
    assert meanings(hint, "win1") == []
    assert about(f"{SILENT}\n{hint}") == ("cluster.unreachable",)
