"""The admission policies of `workload-lint --policies` in a real kube-apiserver: what it warns of, and what its audit
log says, is the linter's own answer for the same objects; kube-controller-manager finds no mistake in their types."""

from __future__ import annotations

import io
import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint import cli
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import live_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile

from tests.real import api_server, build, controller_manager
from tests.real.api_server import Server, until

NAME, SELECTOR = "missing-os-name", "missing-os-selector"
POLICIES = {rule: f"{rule}.lint.winkube.node" for rule in (NAME, SELECTOR)}
VERSIONS = {"Pod": "v1", "Job": "batch/v1", "CronJob": "batch/v1"}
WORKLOADS = ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "Job", "CronJob")
FOR_WINDOWS = "shop"
"""The namespace with the label."""
WINDOWS = {"kubernetes.io/os": "windows"}
FAILURE = "validation.policy.admission.k8s.io/validation_failure"


def affinity(*terms: list[tuple[str, str, list[str]]]) -> dict[str, Any]:
    """Of a pod's spec: terms, each of requirements (key, operator, values)."""
    written = [
        {"matchExpressions": [{"key": key, "operator": how, "values": values} for key, how, values in term]}
        for term in terms
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": written}}
    return {"affinity": {"nodeAffinity": required}}


@dataclass(frozen=True)
class Sent:
    """An object: its kind, what its pod's spec has beside the container, and the policies that it breaks."""

    name: str
    kind: str
    spec: Mapping[str, Any]
    breaks: tuple[str, ...] = ()
    namespace: str = FOR_WINDOWS
    annotations: Mapping[str, str] | None = None
    of_pod: Mapping[str, str] | None = None
    owner: str = ""

    def document(self) -> dict[str, Any]:
        labels = {"app": self.name}
        restart = {"restartPolicy": "Never"} if self.kind in ("Job", "CronJob") else {}
        spec = {"containers": [{"name": "web", "image": "example.invalid/web:1"}], **restart, **self.spec}
        template = {"metadata": {"labels": labels, "annotations": dict(self.of_pod or {})}, "spec": spec}
        whole: dict[str, Any] = {"selector": {"matchLabels": labels}, "template": template}
        if self.kind == "Job":
            whole = {"template": template}
        elif self.kind == "CronJob":
            whole = {"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": template}}}
        elif self.kind == "StatefulSet":
            whole["serviceName"] = self.name
        elif self.kind == "Pod":
            whole = spec
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": self.owner, "controller": True}
        metadata: dict[str, Any] = {"name": self.name, "namespace": self.namespace, "labels": labels}
        if self.annotations:
            metadata["annotations"] = dict(self.annotations)
        if self.owner:
            metadata["ownerReferences"] = [owner]
        return {
            "apiVersion": VERSIONS.get(self.kind, "apps/v1"),
            "kind": self.kind,
            "metadata": metadata,
            "spec": whole,
        }


DECLARED = {"os": {"name": "windows"}, "nodeSelector": WINDOWS}
TO_WINDOWS = [("kubernetes.io/os", "In", ["windows"])]
ACCEPTED = {f"lint.winkube.node/{NAME}": "an old image"}
OBJECTS = (
    *(Sent(f"good-{kind.lower()}", kind, DECLARED) for kind in ("Pod", *WORKLOADS)),
    *(Sent(f"no-name-{kind.lower()}", kind, {"nodeSelector": WINDOWS}, (NAME,)) for kind in ("Pod", *WORKLOADS)),
    Sent("no-system-pod", "Pod", {}, (SELECTOR,)),
    Sent("no-system-deployment", "Deployment", {"nodeSelector": {"disk": "ssd"}}, (SELECTOR,)),
    Sent("no-system-cronjob", "CronJob", {"os": {"name": "windows"}}, (SELECTOR,)),
    Sent("no-system-elsewhere", "Deployment", {}, namespace="default"),
    Sent("by-affinity", "Deployment", affinity(TO_WINDOWS), (NAME,), "default"),
    Sent("accepted", "StatefulSet", {"nodeSelector": WINDOWS}, of_pod=ACCEPTED),
)
MORE = (
    Sent("accepted-above", "Job", {"nodeSelector": WINDOWS}, annotations=ACCEPTED),
    Sent("linux", "Deployment", {"nodeSelector": {"kubernetes.io/os": "linux"}}),
    Sent("no-reason", "Deployment", {"nodeSelector": WINDOWS}, (NAME,), annotations={f"lint.winkube.node/{NAME}": ""}),
    Sent("build", "DaemonSet", {"nodeSelector": {"node.kubernetes.io/windows-build": "10.0.20348"}}, (NAME,)),
    Sent("azure", "Deployment", {"nodeSelector": {"kubernetes.azure.com/os-sku": "Windows2022"}}, (NAME,)),
    Sent("bottlerocket", "Deployment", {"nodeSelector": {"kubernetes.azure.com/os-sku": "Plan9"}}, (SELECTOR,)),
    Sent("not-linux", "Deployment", affinity([("kubernetes.io/os", "NotIn", ["linux"])]), (NAME,)),
    Sent("not-windows", "Deployment", affinity([("kubernetes.io/os", "NotIn", ["windows"])])),
    Sent("either", "Deployment", affinity([("kubernetes.io/os", "In", ["windows", "linux"])]), (SELECTOR,)),
    Sent("one-term-of-two", "Deployment", affinity(TO_WINDOWS, [("zone", "In", ["a"])]), (SELECTOR,)),
    Sent("both-terms", "Job", affinity(*([("zone", "In", [z]), *TO_WINDOWS] for z in "ab")), (NAME,)),
    Sent("gke", "Pod", affinity([("cloud.google.com/gke-windows-os-version", "In", ["2031"])]), (NAME,)),
    Sent("of-a-class", "Deployment", {"runtimeClassName": "windows-2022"}),
    Sent("of-a-node", "Pod", {"nodeName": "win1"}),
    Sent("made", "Pod", {}, owner="00000000-0000-0000-0000-000000000001"),
)
APART = ("no-reason", "made")
"""The linter refuses an annotation without a reason, and looks at a pod whose maker is not in the input."""


def printed() -> str:
    out = io.StringIO()
    assert cli.main(["--policies"], out) == 0
    return out.getvalue()


def policies() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(printed()))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if command := api_server.missing(controller_manager.PROGRAM, "kubectl"):
        pytest.skip(f"lane real: not everything is there; `{command}` builds it")
    controllers = ["serviceaccount-controller", "validatingadmissionpolicy-status-controller"]
    with (
        api_server.running(tmp_path_factory.mktemp("policies")) as running,
        controller_manager.running(running, controllers),
    ):
        namespace = {"metadata": {"name": FOR_WINDOWS, "labels": {"winkube.node/os": "windows"}}}
        assert running.admin.post("/api/v1/namespaces", namespace).status == 201
        account = f"/api/v1/namespaces/{FOR_WINDOWS}/serviceaccounts/default"
        until(lambda: running.admin.get(account).status == 200, "no ServiceAccount")
        runtime = {"metadata": {"name": "windows-2022"}, "handler": "runhcs", "scheduling": {"nodeSelector": WINDOWS}}
        assert running.admin.post("/apis/node.k8s.io/v1/runtimeclasses", runtime).status == 201
        kubectl = [
            str(build.program("kubectl", api_server.VERSION)),
            "--kubeconfig",
            str(running.kubeconfig(running.admin)),
        ]
        done = subprocess.run(
            [*kubectl, "apply", "-f", "-"], input=printed(), capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr, done.stdout.count(" created")) == (0, "", 4), done
        # The server reads its policies from time to time.
        bad = Sent("bad", "Pod", {"nodeSelector": WINDOWS}).document(), Sent("bad", "Pod", {}).document()
        for rule, document in zip(POLICIES, bad, strict=True):
            until(lambda rule=rule, document=document: warned(running, document) == {rule}, f"{rule} never warned")  # type: ignore[misc]
        yield running


def send(server: Server, document: Mapping[str, Any], dry: bool = True) -> api_server.Said:
    version, kind = document["apiVersion"], document["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    path = f"{root}/namespaces/{document['metadata']['namespace']}/{kind.lower()}s"
    said = server.admin.post(f"{path}{'?dryRun=All' if dry else ''}", document)
    assert said.status == 201, said
    return said


def warned(server: Server, document: Mapping[str, Any], dry: bool = True) -> set[str]:
    """The policies that the API server warns of."""
    texts = send(server, document, dry).warnings
    found = {rule for rule, policy in POLICIES.items() if any(f"'{policy}' with binding" in text for text in texts)}
    assert len(found) == len([text for text in texts if "ValidatingAdmissionPolicy" in text]), texts
    return found


def linter_says(document: Mapping[str, Any]) -> set[str]:
    """Its findings of these rules. In the namespace for Windows a pod that does not say its system counts as one for
    Windows (unknown_pods), which then has to select it."""
    documents = live_documents([document])
    names = {each.rule for each in lint(documents, Profile()).findings} & {NAME}
    if document["metadata"]["namespace"] != FOR_WINDOWS:
        return names
    found = {each.rule for each in lint(documents, Profile(unknown_pods="windows")).findings}
    return names | ({SELECTOR} if found & {SELECTOR, "os-name-without-selector"} else set())


@pytest.mark.parametrize("sent", [*OBJECTS, *MORE], ids=lambda sent: sent.name)
def test_what_the_api_server_warns_of(server: Server, sent: Sent) -> None:
    assert warned(server, sent.document()) == set(sent.breaks)


def test_what_the_linter_says_of_the_same_objects(server: Server) -> None:
    assert len(OBJECTS) == 20 and {each.kind for each in OBJECTS} == {"Pod", *WORKLOADS}
    compared = [each for each in (*OBJECTS, *MORE) if each.name not in APART]
    ours = {each.name: linter_says(each.document()) for each in compared}
    assert ours == {each.name: warned(server, each.document()) for each in compared}
    assert sum(bool(ours[each.name]) for each in OBJECTS) == 11


def test_the_audit_log(server: Server) -> None:
    """The failures of each object stand there with the request that it came with, and of no other."""
    for each in OBJECTS:
        assert warned(server, each.document(), dry=False) == set(each.breaks)

    def events() -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for line in server.audit.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            name = event.get("objectRef", {}).get("name", "")
            if event["verb"] == "create" and "dryRun" not in event["requestURI"]:
                failures = json.loads(event.get("annotations", {}).get(FAILURE, "[]"))
                found[name] = {
                    rule for rule, policy in POLICIES.items() for each in failures if each["policy"] == policy
                }
        return found

    names = {each.name: set(each.breaks) for each in OBJECTS}
    until(lambda: names.keys() <= events().keys(), "not all is in the audit log")
    assert {name: found for name, found in events().items() if name in names} == names


def test_an_update_of_a_workload_is_told_too(server: Server) -> None:
    document = Sent("updated", "Deployment", DECLARED).document()
    assert warned(server, document, dry=False) == set()
    path = f"/apis/apps/v1/namespaces/{FOR_WINDOWS}/deployments/updated"
    said = server.admin.strategic(path, {"spec": {"template": {"spec": {"os": None}}}})
    assert said.status == 200 and len(said.warnings) == 1 and POLICIES[NAME] in said.warnings[0]
    scaled = server.admin.merge(f"{path}/scale", {"spec": {"replicas": 2}})
    assert scaled.status == 200 and not scaled.warnings


def test_a_pod_has_the_selector_of_its_runtime_class(server: Server) -> None:
    """The API server adds it before policies look, and to no template."""
    spec = {"runtimeClassName": "windows-2022"}
    assert warned(server, Sent("class", "Pod", spec).document()) == {NAME}
    assert warned(server, Sent("class", "Deployment", spec).document()) == set()


def test_the_largest_pod_costs_less_than_the_limit(server: Server) -> None:
    """An expression over the API server's limit of cost would tell nothing. The last term decides."""
    systems = [f"system{number}" for number in range(30)]
    terms = [[(f"label{number}", "In", systems) for number in range(20)] for _ in range(50)]
    terms = [[*term, *TO_WINDOWS] for term in terms]
    selector = {f"label{number}": "x" * 60 for number in range(500)}
    spec = {**affinity(*terms), "nodeSelector": selector}
    assert warned(server, Sent("large", "Deployment", spec).document()) == {NAME}
    spec = affinity(*terms, [("zone", "In", ["a"])])
    assert warned(server, Sent("large", "Deployment", spec).document()) == {SELECTOR}


def type_mistakes(server: Server, policy: dict[str, Any]) -> list[dict[str, str]]:
    """What the controller writes into the status of a policy that is made, or is there."""
    name = policy["metadata"]["name"]
    path = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{name}"
    if server.admin.get(path).status == 404:
        said = server.admin.make(policy)
        assert said.status == 201, said
    status: dict[str, Any] = {}

    def judged() -> bool:
        status.update(server.admin.get(path).body.get("status") or {})
        return status.get("observedGeneration") == 1 and "typeChecking" in status

    until(judged, f"nobody checked the types of {name}")
    found = status["typeChecking"].get("expressionWarnings") or []
    assert isinstance(found, list)
    return found


def typed(policy: dict[str, Any], kind: str, place: str) -> dict[str, Any]:
    """The same policy for one kind alone, whose pod then has its type, each expression in a validation and without
    variables: those are not checked, and have no type. Source: k8s.io/apiserver v0.37
    pkg/admission/plugin/policy/validating/typechecking.go."""
    plural, spec = f"{kind.lower()}s", policy["spec"]
    rules = spec["matchConstraints"]["resourceRules"]
    mine = [{**rule, "resources": [plural]} for rule in rules if plural in rule["resources"]]
    known: dict[str, str] = {}

    def inlined(expression: str) -> str:
        return re.sub(r"\bvariables\.(\w+)", lambda found: known[found[1]], expression)

    for each in spec["variables"]:
        known[each["name"]] = f"({place if each['name'] == 'pod' else inlined(each['expression'])})"
    asked = [f"[{each}].size() == 1" for each in known.values()]
    asked += [inlined(each["expression"]) for each in (*spec["validations"], *spec["matchConditions"])]
    checked = {
        "matchConstraints": {"resourceRules": mine},
        "validations": [{"expression": each} for each in asked],
    }
    return {**policy, "metadata": {"name": f"{kind.lower()}.{policy['metadata']['name']}"}, "spec": checked}


def test_the_types(server: Server) -> None:
    """In the policies the pod has no type, since its place depends on the kind: with each kind alone it has."""
    places = {"Pod": "object", "CronJob": "object.spec.jobTemplate.spec.template"}
    whole = [each for each in policies() if each["kind"] == "ValidatingAdmissionPolicy"]
    assert len(whole) == 2
    for policy in whole:
        assert type_mistakes(server, policy) == []
        for kind in ("Pod", *WORKLOADS):
            assert type_mistakes(server, typed(policy, kind, places.get(kind, "object.spec.template"))) == []


def test_a_wrong_type_would_be_told(server: Server) -> None:
    policy = next(each for each in policies() if each["metadata"]["name"] == POLICIES[NAME])
    text = json.dumps(typed(policy, "Deployment", "object.spec.template"))
    wrong = json.loads(text.replace(".nodeAffinity", ".nodeAfinity"))
    wrong["metadata"]["name"] = "wrong.example"
    (mistake,) = type_mistakes(server, wrong)[:1]
    assert "undefined field 'nodeAfinity'" in mistake["warning"]
