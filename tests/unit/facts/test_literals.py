"""Lines are traced to the function that prints them; the table and the text of places fit each other."""

from __future__ import annotations

import re

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts import literals
from ansible_collections.winkube.node.plugins.plugin_utils.facts.literals import find_place, find_places

from tests.catalogue.__main__ import TABLE
from tests.catalogue.table import read, write

LINES = [
    (
        'proxier.go:1756] "Policy creation failed" err="hcnCreateLoadBalancer failed in Win32: The specified port"',
        "",
        "writing rules of a Service into HNS",
    ),
    (
        "failed to hot attach bridge HNSEndpoint cbr0_ep to host compartment: hnsCall failed in Win32",
        "flanneld",
        "creating the l2bridge network of HNS",
    ),
    (
        'failed to setup network for sandbox "b60761cab111": hcnCreateNetwork failed in Win32: (0x57)',
        "containerd",
        "setting up the sandbox and network of a pod",
    ),
    ("error execution phase kubelet-start: timed out", "kubeadm", "choosing its phases"),
    ('failed to setup network for sandbox \\"b6\\": no', "containerd", "setting up the sandbox and network of a pod"),
]


@pytest.mark.parametrize(("line", "program", "operation"), LINES)
def test_a_line_is_traced_to_its_place(line: str, program: str, operation: str) -> None:
    found = find_place(line)
    assert found is not None
    assert (found.program, found.operation) == (program, operation)
    assert re.fullmatch(r"\S+@\S+ \S+\.go:\S+", found.source)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Hello",
        "failed to remove C:\\x: no",
        'Pod "a" is running',
        "failed",
        "unable to remove x",
        "bad: invalid MAC address",
    ],
)
def test_a_line_that_anybody_could_say_has_no_place(line: str) -> None:
    assert find_place(line) is None


def test_a_literal_of_few_words_names_no_program() -> None:
    """Another CNI plugin says the same words."""
    found = find_place('"msg": "error reading network config: invalid character"')
    assert found is not None
    assert (found.program, found.operation) == ("", "setting up the network of a pod")


def test_a_chain_names_its_places_in_their_order() -> None:
    line = (
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "x": '
        "hcnCreateEndpoint failed in Win32: The endpoint already exists"
    )
    assert [(place.program, place.object) for place in find_places(line)][:2] == [
        ("kubelet", "container"),
        ("containerd", "pod sandbox"),
    ]
    assert "hcnCreateEndpoint" in [place.literal for place in find_places(line)]


def test_what_a_library_says_names_no_program() -> None:
    found = find_place("x509: certificate signed by unknown authority")
    assert found is not None
    assert (found.program, found.operation) == ("", "checking a certificate")


def test_at_least_sixty_percent_of_what_reaches_a_user_has_a_place() -> None:
    counts = literals.counts()
    assert counts["reach"] > 10_000
    assert counts["place"] >= 0.6 * counts["reach"]


def test_each_row_of_the_places_is_used() -> None:
    """A row that a longer folder, or one before it, always outranks says nothing."""
    found = {id(literals.describe(each.module, each.file, each.function)) for each in literals.literals()}
    rows = [(folder, row) for folder, own in literals.places().items() for row in own]
    assert [(folder, row) for folder, row in rows if id(row) not in found] == []


def test_the_table_is_written_as_it_is_read() -> None:
    rows = read(TABLE.read_bytes())
    assert read(write(rows)) == rows
