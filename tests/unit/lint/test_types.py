"""Values that kube-apiserver cannot read, and fields in wrong places, beside its own verdicts (tests/corpus/types)."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import read_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile

from tests.corpus import types

SAID = types.verdicts(types.NEWEST)
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "containers": [{"name": "c", "image": "a.example.com/c:1"}],
    },
}


@pytest.mark.parametrize("each", list(types.planted()), ids=lambda each: each.name)
def test_an_error_is_one_to_the_api_server_and_a_control_is_silent(each: types.Planted) -> None:
    verdict, told = SAID[each.name], types.told(each)
    assert told in ({""} if each.control else {"", "error" if not verdict["decoded"] else "warning"})


def test_what_was_planted_is_found() -> None:
    """The four that are not: a template that is a list, and three names that no other place of the object has."""
    figures = types.figures()
    assert (figures["planted"], figures["controls"], figures["false"]) == (140, 29, 0) and figures["found"] >= 136


def said(text: str, minor: int = 37) -> dict[str, str]:
    found = lint(read_documents("a.yml", text), Profile(minor=minor)).findings
    return {each.path: f"{each.rule}: {each.message} {each.remedy}" for each in found if each.rule in types._RULES}


def pod(**spec: Any) -> str:
    return yaml.safe_dump({**POD, "spec": {**POD["spec"], **spec}})


def test_the_sentences() -> None:
    assert said(pod(os="windows", nodeselector={})) == {
        "spec.os": 'undecodable-value: os has to be a mapping, and is the string "windows": the API server refuses the'
        " object, which it cannot read. Write a mapping of names to values.",
        "spec.nodeselector": "unknown-field: PodSpec of this Kubernetes does not have nodeselector: kubectl says so and"
        " stops, another client's is dropped. Did you mean nodeSelector? Correct the name or its place, or remove it.",
    }
    (sentence,) = said(deployment(tolerations=[])).values()
    assert "does not have tolerations" in sentence and "tolerations belongs to spec.template.spec." in sentence


def test_of_a_value_that_cannot_be_read_nothing_else_is_said() -> None:
    memory = {"name": "c", "image": "a.example.com/c:1", "resources": {"limits": {"memory": "1MB", "cpu": 1}}}
    found = lint(read_documents("a.yml", pod(containers=[memory])), Profile()).findings
    assert [each.rule for each in found if "memory" in each.path] == ["undecodable-value"]


def deployment(kind: str = "apps/v1 Deployment", **spec: Any) -> str:
    version, _blank, kind = kind.partition(" ")
    return yaml.safe_dump({"apiVersion": version, "kind": kind, "spec": {"template": {"spec": POD["spec"]}, **spec}})


@pytest.mark.parametrize(
    "text",
    [
        pod(nodeSelector={"kubernetes.io/os": "linux"}, hostNetwork="yes"),
        pod(nodeSelector=None, hostNetwork="yes"),
        yaml.safe_dump({**POD, "kind": "Rollout", "apiVersion": "argoproj.io/v1alpha1", "spec": {"replicas": "1"}}),
        pod(containers=[{"$patch": "delete", "name": "c"}], **{"$retainKeys": ["a"]}),
        pod(terminationGracePeriodSeconds="{{ grace }}"),
        deployment(windowsVersion="ltsc2022"),
    ],
    ids=["linux", "unknown", "another kind", "kustomize", "template", "no near name"],
)
def test_silent(text: str) -> None:
    assert said(text) == {}


def test_a_field_that_is_younger_than_the_release_is_silent_outside_of_pods() -> None:
    assert said(deployment("batch/v1 Job", podReplacementPolicy="Failed", backoffLimit=1), 22) == {}


def test_exponents_are_numbers_as_kubectl_reads_them() -> None:
    assert said(pod(terminationGracePeriodSeconds=30).replace("30", "3e1")) == {}
    assert "is the number 1000.0" in said(pod(hostname="HASH").replace("HASH", "1e3"))["spec.hostname"]
    assert said(pod(hostname="HASH").replace("HASH", "12e45678")) == {}, "no float holds it, so it is a string"


def test_an_annotation_at_the_template_accepts_it() -> None:
    metadata = {"annotations": {"lint.winkube.node/unknown-field": "an operator reads it"}}
    template = {"metadata": metadata, "spec": {**POD["spec"], "template": {}}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"template": template},
    }
    assert said(yaml.safe_dump(deployment)) == {}
