"""`--policies` prints two admission policies with bindings; tests/real/test_policies.py asks a real API server."""

from __future__ import annotations

import json

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint import cli, policies, target
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import IDS

from .test_reports import folder, run

__all__ = ["folder"]
KINDS = {"pods", "deployments", "daemonsets", "statefulsets", "replicasets", "jobs", "cronjobs"}


def test_they_warn_and_refuse_nothing() -> None:
    documents = list(yaml.safe_load_all(policies.build_policies("team=windows", policies.SINCE_MINOR)))
    kinds = [each["kind"] for each in documents]
    assert kinds == ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"] * 2
    for policy, binding in zip(documents[::2], documents[1::2], strict=True):
        assert policy["spec"]["failurePolicy"] == "Ignore"
        assert binding["spec"]["validationActions"] == ["Warn", "Audit"]
        assert binding["spec"]["policyName"] == policy["metadata"]["name"]
        assert policy["metadata"]["name"].removesuffix(".lint.winkube.node") in IDS
        rules = policy["spec"]["matchConstraints"]["resourceRules"]
        assert {name for rule in rules for name in rule["resources"]} == KINDS
        assert {each["apiVersion"] for each in documents} == {"admissionregistration.k8s.io/v1"}
    everywhere, labelled = documents[1], documents[3]
    assert "matchResources" not in everywhere["spec"]
    assert labelled["spec"]["matchResources"] == {"namespaceSelector": {"matchLabels": {"team": "windows"}}}


def test_the_labels_are_those_of_the_linter() -> None:
    text = json.dumps(list(yaml.safe_load_all(policies.build_policies("a=b", policies.SINCE_MINOR))))
    for key in {*target.WINDOWS_LABELS, *target.LINUX_LABELS, *target.OS_LABELS, *target.WINDOWS_KEYS}:
        assert f"'{key}'" in text


@pytest.mark.usefixtures("folder")
def test_no_gap_is_left_open() -> None:
    code, out, err = run("--policies")
    assert (code, err) == (cli.OK, "")
    assert not [name for name in ("match", "windows", "linux", "key", "value") if f"<{name}>" in out]
    assert 'matchLabels: {"winkube.node/os": "windows"}' in out
    assert run("--policies", "example.com/team=a.b")[1].count('{"example.com/team": "a.b"}') == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "label",
    ["windows", "a b=c", "-a=b", "a=b=c", "a=b\n", "A/b=c", 'a="x"', "=b", f"{'a' * 64}=b", "a..b/c=d", "a.-b/c=d"],
)
def test_what_is_no_label_is_refused(label: str) -> None:
    code, out, err = run(f"--policies={label}")
    assert (code, out) == (cli.UNUSABLE, "")
    said = f"--policies: {label!r} is no label of a namespace; write KEY=VALUE, as in winkube.node/os=windows."
    assert err == f"workload-lint: {said}\n"


@pytest.mark.usefixtures("folder")
def test_a_cluster_without_such_policies_is_refused() -> None:
    code, out, err = run("--policies", "--profile", "1.29")
    assert (code, out) == (cli.UNUSABLE, "")
    assert err == "workload-lint: --policies: ValidatingAdmissionPolicies need Kubernetes 1.30, not 1.29.\n"
    assert run("--policies", "--profile", "1.30")[0] == cli.OK
