"""Reading manifests: forms, positions, and what is not a manifest."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import (
    UnreadableError,
    objects_of,
    read_documents,
)
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile
from ansible_collections.winkube.node.plugins.plugin_utils.lint.sources import read_inputs, read_paths, write_text

SPEC = {"os": {"name": "windows"}, "hostPID": True, "containers": [{"name": "c"}]}


def rules(text: str, file: str = "f.yml") -> list[tuple[str, str, int]]:
    report = lint(read_documents(file, text), Profile())
    return [(each.rule, each.path, each.line) for each in report.findings if each.rule == "host-pid"]


@pytest.mark.row("LM-71")
@pytest.mark.parametrize(
    ("kind", "template"),
    [
        ("Pod", ()),
        ("PodTemplate", ("template",)),
        ("ReplicationController", ("spec", "template")),
        ("ReplicaSet", ("spec", "template")),
        ("Deployment", ("spec", "template")),
        ("StatefulSet", ("spec", "template")),
        ("DaemonSet", ("spec", "template")),
        ("Job", ("spec", "template")),
        ("CronJob", ("spec", "jobTemplate", "spec", "template")),
    ],
)
def test_every_kind_with_a_pod_is_unwrapped(kind: str, template: tuple[str, ...]) -> None:
    import json

    inner: Any = {"spec": SPEC, "metadata": {"name": "x"}}
    for part in reversed(template):
        inner = {part: inner}
    text = json.dumps({"metadata": {"name": "x"}, "apiVersion": "v1", "kind": kind, **inner})
    (found,) = rules(text)
    assert found[1] == ".".join((*template, "spec", "hostPID"))


def test_unknown_kinds_with_a_pod_template_too() -> None:
    text = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: x}\nspec:\n  template:\n    spec:\n"
        "      os: {name: windows}\n      hostPID: true\n      containers: [{name: c}]\n"
    )
    assert rules(text) == [("host-pid", "spec.template.spec.hostPID", 8)]


def test_documents_lists_and_json() -> None:
    pod = (
        "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {os: {name: windows}, hostPID: true, containers: [{}]}}"
    )
    assert [line for _, _, line in rules(f"# c\n---\n{pod}\n---\n---\n{pod}\n")] == [3, 6]
    listed = f"apiVersion: v1\nkind: List\nitems:\n- {pod}\n"
    assert rules(listed) == [("host-pid", "items[0].spec.hostPID", 4)]
    item = "{metadata: {name: x}, spec: {os: {name: windows}, hostPID: true, containers: []}}"
    typed = f"apiVersion: v1\nkind: PodList\nitems:\n- {item}\n"
    assert len(rules(typed)) == 1
    spec = '"spec": {"os": {"name": "windows"},\n\t"hostPID": true, "containers": []}'
    tabs = '{\n\t"apiVersion": "v1", "kind": "Pod",\n\t' + spec + "}"
    assert rules(tabs, "f.json") == [("host-pid", "spec.hostPID", 4)]


def test_anchors_and_merge_keys_are_followed() -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nx-base: &base\n  hostPID: true\n  os: {name: windows}\n"
        "spec:\n  <<: *base\n  containers: []\n"
    )
    assert rules(text) == [("host-pid", "spec.hostPID", 5)]


def test_scalars_are_read_as_kubectl_reads_them() -> None:
    (document,) = read_documents("f.yml", "{a: 10:22, b: 2024-01-01, c: 0644, d: 1.30, e: yes, f: 1_000, g: -1}")
    assert document.value == {"a": "10:22", "b": "2024-01-01", "c": 420, "d": 1.3, "e": True, "f": 1000, "g": -1}


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: b: c\n", "f.yml:1:5: this is not valid YAML: mapping values are not allowed in this context."),
        ("a: {{ .Values.x }}\nb: [", "render it first"),
        ('a: "C:\\data"\n', "write single quotes, or each backslash twice"),
        ("kind: Pod\nspec: &s {containers: [*s]}\n", "f.yml:2:7: an alias stands inside the very value that it names."),
        (BOMB, "its aliases make more than 100000 characters"),
        ("a: " + "[" * 300 + "]" * 300, "f.yml:1:132: its values are nested more than 128 deep."),
        ("a: !tag " + "[" * 300 + "]" * 300, "its values are nested more than 128 deep."),
        ("[" * 5000, "this is not valid YAML"),
        ('{"a": ' * 5000, "this is not valid YAML"),
    ],
)
def test_what_is_no_manifest_is_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        read_documents("f.yml", text)
    assert sentence in str(caught.value) and "f.yml" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "unchecked"),
    [
        ("code: %EKS_ACTIVATION_CODE%\n", "template"),
        ("name: %s\n", "template"),
        ("clusterIP: {SERVICE_PREFIX}.16\n", "template"),
        ("args: [\n__EXTRA_PARAMS__\n  '--x',\n a b: c]\nb: [", "template"),
        ("hosts: [1.2.3.4, 001:db8::]\n", "file"),
        ("value: %PATH%\n", ""),
        ("value: %CONTAINER_SANDBOX_MOUNT_POINT%\\a.exe\n", ""),
        ("matchExpressions: {key: tenant; operator: Exists}\n", ""),
        ("baz:\n\tfoo: bar\n", ""),
        ("format: 'level: %s'\nbaz: [\n", ""),
    ],
)
def test_what_a_program_fills_in_is_a_template_and_a_variable_of_windows_is_a_mistake(
    text: str, unchecked: str
) -> None:
    """Failed before: files of eksctl, Karpenter, cert-manager, Kubernetes and Istio were broken manifests."""
    with pytest.raises(UnreadableError) as caught:
        read_documents("f.yml", f"apiVersion: v1\nkind: Pod\n{text}")
    assert caught.value.unchecked == unchecked


def test_what_has_no_end_is_a_sentence_and_the_rest_is_read(tmp_path: Path) -> None:
    pod = tmp_path / "pod.yml"
    pod.write_text("{apiVersion: v1, kind: Pod}", encoding="utf-8")
    inputs = read_inputs([str(pod), "/dev/zero"])
    assert [each.file for each in inputs.documents] == [str(pod)]
    assert [str(each) for each in inputs.unreadable] == [
        "/dev/zero: it has more than the 64 MB that are read: give a part of it."
    ]


def test_documents_that_are_no_kubernetes_objects_are_left_alone() -> None:
    (values,) = read_documents("values.yaml", "replicas: 2\nkind: 3\n")
    assert list(objects_of(values)) == []
    assert rules("- a\n- b\n") == [] and rules("text\n") == []


def test_files_folders_and_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.yml", "d/b.yaml", "d/c.json", "d/.hidden/d.yml", "d/readme.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{apiVersion: v1, kind: A}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [each.file for each in read_paths(["d", "a.yml", "d/b.yaml", "*.yml"])] == ["d/b.yaml", "d/c.json", "a.yml"]
    with pytest.raises(UnreadableError, match=r"x\*\.yml: there is no such"):
        read_paths(["x*.yml"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_that_windows_editors_leave_behind(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "a.yml"
    file.write_bytes("a: ü\r\n".encode(encoding))
    (document,) = read_paths([str(file)])
    assert document.value == {"a": "ü"}
    write_text(file, "a: ö\r\n")
    assert file.read_bytes() == "a: ö\r\n".encode(encoding)
    assert file.read_bytes().startswith(codecs.BOM_UTF8) == (encoding == "utf-8-sig")


@pytest.mark.parametrize(
    "text",
    [
        "a: !vault x\n",
        "a: !Ref Image\nb: !Sub {c: 1}\n",
        'a: !!python/name:os.path ""\n',
        "? {a: b}\n: 1\n",
        "a: =\n",
        "a: &x {b: 1}\nc:\n  <<: *x\n",
        "a: 1\r\n---\r\nb: 2\r\n",
        "\ufeffa: 'x\ty'\n",
    ],
)
def test_valid_yaml_is_valid(text: str) -> None:
    assert all(isinstance(each.value, dict) for each in read_documents("f.yml", text))


def test_a_value_with_a_tag_of_another_program_is_not_known() -> None:
    value = read_documents("f.yml", "kind: Pod\nimage: !Ref Image\n")[0].value
    assert value["kind"] == "Pod" and repr(value["image"]) == "!Ref"


CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: a.example.com}
spec:
  names: {kind: A}
# a remark
  versions:
  - schema: {openAPIV3Schema: {type: object}}
status:
  stored: true
---
apiVersion: v1
kind: Pod
"""


def test_schemas_of_a_definition_are_not_read_and_places_stay() -> None:
    definition, pod = read_documents("f.yml", CRD)
    assert definition.value["spec"] is None and definition.value["status"] == {"stored": True}
    assert definition.position(("status", "stored")) == (10, 3)
    assert pod.position(("kind",)) == (13, 1)


def test_an_object_that_is_no_definition_is_read_whole() -> None:
    text = CRD.replace("kind: CustomResourceDefinition", "kind: A # no CustomResourceDefinition")
    assert read_documents("f.yml", text)[0].value["spec"]["names"] == {"kind": "A"}
