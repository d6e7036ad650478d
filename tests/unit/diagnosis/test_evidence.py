"""A definite cause needs evidence: what was being done, or words that name their object by themselves.

Derived from the tables. Each reason of a rule is said of each operation, and of objects that nobody knows: where the
same cause comes whatever was being done, the rule does not look at what was being done, and its reason has to name the
object itself. Each alternative of a pattern without an operation has to tell enough by its own words.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from math import log2

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts import windows_codes
from ansible_collections.winkube.node.plugins.plugin_utils.facts.message import Message, Rule
from ansible_collections.winkube.node.plugins.plugin_utils.facts.message_places import (
    ENDPOINT,
    HNS,
    NETWORK,
    OPERATIONS,
    RULE,
)
from ansible_collections.winkube.node.plugins.plugin_utils.words.messages import MESSAGES, find_messages
from ansible_collections.winkube.node.plugins.plugin_utils.words.precedence import PLACES

from tests.judge.case import load
from tests.unit.diagnosis.samples import samples

CAUSES = tuple(each for each in MESSAGES if each not in PLACES)
RULES = tuple(each for each in CAUSES if isinstance(each, Rule))

NAMES_ITSELF = {
    "cluster.api-missing": "the server could not find the resource: the API server's words",
    "cluster.certificate-time": "a certificate has expired",
    "cluster.denied": "the server asks the client for credentials: the API server's words",
    "cluster.node-name": "no preferred addresses found: of a Node",
    "cluster.overloaded": "etcd's and the API server's words",
    "cluster.serving-certificate": "of the kubelet's port",
    "cni.addresses-used-up": "the address pools",
    "cni.plugin-crashed": "netplugin",
    "container.gmsa": "the credential spec",
    "container.scratch": "the scratch",
    "container.shim": "the shim",
    "hns.broken-state": "HNS failed",
    "hns.not-supported": "the platform does not support it",
    "host.cloud-denied": "the cloud's words for a role that lacks a right",
    "host.disk-full": "the drive is full, whoever writes",
    "host.no-memory": "Windows has no memory left, whoever asks",
    "host.proxy": "the proxy itself is named",
    "image.credentials": "the credential provider",
    "image.damaged": "containerd's words for what it wrote",
    "image.missing": "the pull",
    "image.registry-denied": "the registry's JSON",
    "image.registry-unreachable": "containerd's request to a registry",
    "node.device": "the device",
    "pod.stream": "the connection to the pod",
    "services.deleting": "the service",
    "start.account": "the service's account",
    "start.cloud-metadata": "the cloud provider",
    "start.database": "the database",
    "start.dependency": "the service that it depends on",
    "start.port-in-use": "the address is in use",
    "start.service-state": "the service",
    "start.timeout": "the service",
    "volume.format": "the volume",
    "volume.share-users": "connections to a server with different users",
}
"""Findings whose reasons name the object, so that they mean the same whatever was being done."""

UNKNOWN = (
    "dial tcp 10.1.2.3:53091: {}",
    'Get "https://odd.example/x": {}',
    "listen tcp 127.0.0.1:53091: bind: {}",
    "lookup odd.example: {}",
    "open /odd/file: {}",
    "odd.exe failed: {}",
    "Failed to do it: {}",
)
"""Peers, ports, files and programs that are no one's."""

TELLS = {
    "cni.": "words of a CNI plugin, its configuration or its addresses",
    "flannel.": "flannel's own identifiers",
    "host.not-elevated": "System error 5: net.exe's words for one code",
    "image.registry-denied": "toomanyrequests, the registry's own code",
    "join.": "kubeadm's names of its checks",
    "pod.invalid": "the API server's sentence about a manifest",
    "pod.no-node": "the scheduler's sentence",
    "start.unknown-flag": "pflag's words: a program does not know an argument",
    "start.kubelet-config": "kubelet's check of its configuration",
    "start.panic": "Go's own beginning of a line",
    "start.port-in-use": "kubeadm's sentence about a port",
    "start.kubeconfig": "the kubeconfig is named",
    "start.containerd-config": "the form of a file of containerd's",
    "volume.expand": "NodeExpandVolume, its own word",
    "volume.host-path": "hostPath, its own word",
    "volume.share-denied": "kubernetes.io~csi, kubelet's own folder",
    "volume.subpath": "subPath, its own word",
}
"""Causes of whose words few letters are enough."""

ENOUGH = 9.0
"""So many bits the words of a text have to tell together: one that four of the judged texts have tells as many."""
IDENTIFIER = re.compile(r"[a-z][A-Z]|[A-Za-z]_[A-Za-z]|0x[0-9a-f]{6}|\d{9}|[A-Z]{3}\w*\[")
"""A name of a program's own, or a code: it is nobody else's, however often judged texts have it."""


def _reasons(rule: Rule) -> Iterator[str]:
    """Those that may be anybody's: codes of Windows, and words that are asked for together with what was being done."""
    for each in rule.reasons:
        if isinstance(each, str):
            yield from samples(each)[:6] if rule.doing else ()
        elif each < 0x10000:
            text = windows_codes.TEXTS.get(each)
            yield f"{samples(text)[0] if text else 'odd'} (0x{each:x})"


def _said_of(forms: tuple[str, ...]) -> dict[tuple[str, str], int]:
    """Of how many forms a reason (with the finding that it leads to) is a cause."""
    reasons = tuple(dict.fromkeys(text for rule in RULES for text in _reasons(rule)))
    lines = [(text, form.format(text)) for text in reasons for form in forms]
    found: defaultdict[tuple[str, str], int] = defaultdict(int)
    for (text, _line), message in zip(lines, find_messages([line for _text, line in lines]), strict=True):
        if message is not None and message not in PLACES:
            found[message.finding, text] += 1
    return found


@pytest.mark.slow
def test_a_cause_that_comes_whatever_was_being_done_has_a_reason_that_names_its_object() -> None:
    forms = tuple(
        samples(pattern.pattern)[0].replace("{", "").replace("}", "") + ": {}" for pattern, *_rest in OPERATIONS
    )
    wrong = {each for each, count in _said_of(forms).items() if count > len(forms) // 3 and each[0] not in NAMES_ITSELF}
    assert wrong == set()


def test_a_reason_said_of_what_nobody_knows_is_no_cause() -> None:
    assert {each for each in _said_of(UNKNOWN) if each[0] not in NAMES_ITSELF} == set()


@pytest.mark.parametrize("doing", (HNS, NETWORK, ENDPOINT, RULE))
def test_what_hns_refused_is_named_only_where_the_line_names_it(doing: str) -> None:
    """HNS has the same codes for networks, endpoints and rules."""
    (pattern,) = (pattern for pattern, _who, does in OPERATIONS if does == doing)
    lines = [
        f"{form}: {text}"
        for form in samples(pattern.pattern)
        for rule in RULES
        for text in _reasons(rule)
        if "(0x" in text
    ]
    found = [(line, each.finding) for line, each in zip(lines, find_messages(lines), strict=True) if each in set(RULES)]
    assert [
        (line, finding)
        for line, finding in found
        for thing in ("network", "endpoint")
        if f"hns.{thing}-" in finding and thing not in line.lower()
    ] == []


@cache
def _counts() -> tuple[int, Counter[str]]:
    texts = {str(each.data.get("message") or "") for folder in ("cases", "healthy") for each in load(folder)}
    return len(texts), Counter(word for each in texts for word in _words(each))


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9_]{3,}", text.lower()))


def _tells(text: str) -> bool:
    number, counts = _counts()
    return bool(IDENTIFIER.search(text)) or sum(log2(number / max(1, counts[word])) for word in _words(text)) >= ENOUGH


@pytest.mark.parametrize(
    "cause",
    [each for each in CAUSES if isinstance(each, Message) or not each.doing],
    ids=lambda each: f"{each.finding}-{each.source[:30]}",
)
def test_words_that_mean_a_cause_by_themselves_tell_enough(cause: Message | Rule) -> None:
    patterns = (
        (cause.pattern,)
        if isinstance(cause, Message)
        else tuple(each for each in cause.reasons if isinstance(each, str))
    )
    weak = {text for pattern in patterns for text in samples(pattern) if not _tells(text)}
    alone = [
        text
        for text, said in zip(weak, find_messages(list(weak)), strict=True)
        if said is not None and said not in PLACES
    ]
    assert not alone or cause.finding.startswith(tuple(TELLS)), alone


def test_each_exception_is_needed() -> None:
    findings = {each.finding for each in CAUSES}
    assert {each for each in (*NAMES_ITSELF, *TELLS) if not any(one.startswith(each) for one in findings)} == set()
