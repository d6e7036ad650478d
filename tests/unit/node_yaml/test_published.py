"""What is published beside the code: the schema, the pages, the examples."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.node.ssh import KEEP_ALIVE
from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml import document, schema, tree, variables

from .samples import ROOT, SAMPLE, WHOLE, said

pytestmark = pytest.mark.slow

INVENTORY = (ROOT / "docs" / "inventory.md").read_text(encoding="utf-8")
LAB_SETUP = (ROOT / "docs" / "lab-setup.md").read_text(encoding="utf-8")
WITH_COMPONENTS = """\
apiVersion: windows.k8s.io/v1alpha1
kind: Node
metadata: {name: win1}
spec:
  credentials: {username: a, hostname: b}
  components:
    containerd: {log_level: debug, registries: [{host: x, client: {key: k}, header: {a: b}}], config_extra: {debug: {}}}
    windows_exporter: {port: 9183, collectors: [cpu], service: {manager: nssm}}
    csi_proxy:
"""
VALIDATOR = jsonschema.Draft202012Validator(schema.node_schema())


def test_the_schema_is_a_valid_one_and_names_checks_that_exist() -> None:
    jsonschema.Draft202012Validator.check_schema(schema.node_schema())
    parts = list(_schemas(schema.node_schema()))
    assert {item["x-check"] for item in parts if "x-check" in item} == set(schema.CHECKS)
    for pattern, reason in (each for item in parts for each in item.get("x-refuse", ())):
        assert re.compile(pattern) and reason.startswith(("which ", "in which "))


def _compose(text: str) -> yaml.Node:
    node = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    assert node is not None
    return node


def _schemas(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and all the schemas in it."""
    yield part
    inner = [*part.get("properties", {}).values(), *part.get("$defs", {}).values(), *part.get("anyOf", ())]
    inner += [part[name] for name in ("items", "additionalProperties", "if", "then", "else") if name in part]
    for each in inner:
        if isinstance(each, dict):
            yield from _schemas(each)


def _variants(good: Any) -> Iterator[Any]:
    """The document with each of its values, one after the other, removed, replaced, or with a key too many."""
    for path in list(_paths(good)):
        for new in (None, [], {}, "x", "", 1, 1.5, True, ["x"], {"x": 1}):
            changed = copy.deepcopy(good)
            parent = changed
            for key in path[:-1]:
                parent = parent[key]
            parent[path[-1]] = new
            yield changed
        changed = copy.deepcopy(good)
        parent = changed
        for key in path[:-1]:
            parent = parent[key]
        del parent[path[-1]]
        yield changed


def _paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*before, key)
        yield from _paths(item, (*before, key))


@pytest.mark.row("NY-12", "NY-19")
@pytest.mark.parametrize("text", [SAMPLE, WHOLE, WITH_COMPONENTS], ids=["sample", "whole", "components"])
def test_the_verdicts_are_those_of_jsonschema(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what only our checks say, which the schema cannot."""
    monkeypatch.setattr(schema, "_find_reason", lambda _schema, _text: None)
    checker = schema.Checker()
    verdicts = set()
    for data in _variants(yaml.safe_load(text)):
        value, problems = tree.build(_compose(json.dumps(data)))
        assert problems == []
        ours = not checker.problems(value)
        assert ours == VALIDATOR.is_valid(data), data
        verdicts.add(ours)
    assert verdicts == {True, False}


def test_the_schema_has_no_keyword_that_nothing_reads() -> None:
    """A validator takes what it does not know for fine, and so does ours."""
    known = {"$schema", "$id", "$defs", "title", "description", "default", "deprecated", "x-extension"}
    known |= {"$ref", "type", "const", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "items"}
    known |= {"properties", "required", "additionalProperties", "anyOf", "if", "else"}
    known |= {"x-wanted", "x-refuse", "x-check", "x-template", "x-vault", "x-secret", "x-hints"}
    known |= {"x-variable", "x-convert", "x-optional"}
    assert {keyword for part in _schemas(schema.node_schema()) for keyword in part} == known


@pytest.mark.row("NY-13", "NY-26")
@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples").rglob("*.yml")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_the_examples_are_valid(path: Any) -> None:
    text = path.read_text(encoding="utf-8")
    if "windows.k8s.io/v1alpha1" not in text:  # gMSA has the same group
        return
    assert said(text) == []
    for data in yaml.safe_load_all(text):
        VALIDATOR.validate(data)


@pytest.mark.row("NY-19", "NY-26")
def test_the_page_lists_every_key_with_its_variable() -> None:
    """Its rows below spec are generated; those of the credentials and the components are written."""
    lines = {line.split("`")[1]: line for line in INVENTORY.splitlines() if line.startswith("| `")}
    for row in variables.rows():
        if row.path[0] != "components":
            assert f"`{row.variable}`" in lines[".".join(("spec", *row.path))]
    own = {path for path, line in lines.items() if "| own" in line}
    marked = {f"spec.{path}" for path in document.annotation_paths()}
    assert own == marked
    keys = schema.node_schema()["$defs"]["credentials"]["properties"]
    assert {f"spec.credentials.{key}" for key in keys} <= lines.keys()


@pytest.mark.row("NY-24", "NY-26")
def test_the_page_names_the_groups_and_how_a_file_stays_readable_for_swdt() -> None:
    for word in (
        "windows_nodes",
        "winkube_mode_",
        "winkube_provisioner_",
        "winkube_kubernetes_",
        "winkube_os_build_",
        "keyed_groups",
    ):
        assert word in INVENTORY
    for group, given in (
        ("ssh", ("connection: ssh", "port: 22", "shell_type: powershell", f"ssh_extra_args: {KEEP_ALIVE}")),
        ("winrm", ("connection: winrm", "port: 5986", "winrm_server_cert_validation: validate")),
    ):
        assert f"| `winkube_{group}` | {', '.join(f'`ansible_{each}`' for each in given)}" in INVENTORY
    assert "| `winkube_winrm_password` | `ansible_winrm_transport: ntlm` (nodes with a password) |" in INVENTORY
    assert document.ANNOTATION_PREFIX in INVENTORY
    assert "EnableStrict" in INVENTORY


@pytest.mark.row("NY-23")
def test_the_lab_page_says_how_to_get_a_machine_and_where_its_address_goes() -> None:
    for words in (
        "## Hyper-V",
        "New-VMSwitch",
        "New-VM ",
        "MacAddressSpoofing",
        "## KVM",
        "virt-install",
        "virsh domifaddr",
        "OpenSSH.Server",
    ):
        assert words in LAB_SETUP
    sample = LAB_SETUP.split("## Where the address goes")[1].split("```yaml\n")[1].split("```")[0]
    file = document.read(sample)
    assert file.problems == ()
    assert file.nodes[0].text("spec", "credentials", "hostname") == "192.168.122.220:22"
    assert "192.168.10.3" in LAB_SETUP.split("## KVM")[0]
    assert "lab-setup.md" in INVENTORY
