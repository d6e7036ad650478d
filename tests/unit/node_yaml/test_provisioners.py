"""What an item of spec.kubernetes.provisioners may say."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import DAEMONS
from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml import schema
from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml.tree import plain

from .samples import ROOT, SAMPLE, edited, node, said, the

ITEM = "spec.kubernetes.provisioners[1]"


@pytest.mark.row("NY-12", "PV-02")
@pytest.mark.parametrize(
    ("key", "misspelt"),
    [
        ("name", "nmae"),
        ("version", "vesion"),
        ("sourceURL", "sourceUrl"),
        ("sourceURL", "source_url"),
        ("destination", "Destination"),
        ("overwrite", "overWrite"),
    ],
)
def test_a_misspelt_key_of_a_provisioner_is_one_mistake_with_the_right_key_named(key: str, misspelt: str) -> None:
    start = SAMPLE.index("- name: kubelet")
    line = the(SAMPLE[:start] + SAMPLE[start:].replace(f"{key}:", f"{misspelt}:"))
    assert (
        f"found the unknown key '{misspelt}' in {ITEM}, wanted name, version, sourceURL, destination, overwrite or"
        " checksum" in line
    )
    assert line.endswith(f": did you mean {key}?")


@pytest.mark.row("NY-12", "PV-02")
@pytest.mark.parametrize("key", ["name", "sourceURL"])
def test_a_provisioner_needs_a_name_and_a_source(key: str) -> None:
    old, new = {
        "name": ("- name: kubelet\n        version", "- version"),
        "sourceURL": ("        sourceURL: http://xyz/kubelet.exe\n", ""),
    }[key]
    assert f"found no {key} in {ITEM}" in the(edited((old, new)))


@pytest.mark.row("NY-12")
@pytest.mark.parametrize("name", DAEMONS)
def test_the_destination_of_a_known_service_may_be_left_out(name: str) -> None:
    head = SAMPLE[: SAMPLE.index("    provisioners:")]
    item = f"    provisioners:\n      - {{name: {name}, sourceURL: ./a.exe}}\n"
    assert said(head + item) == []
    assert "found no destination in spec.kubernetes.provisioners[0]" in the(head + item.replace(name, "agent"))


@pytest.mark.row("NY-12")
def test_two_provisioners_of_one_name_are_refused() -> None:
    line = the(edited(("- name: kubelet", "- name: Containerd")))
    assert line.startswith("node.yml:22:15: found a second provisioner 'Containerd' (first on line 17)")


@pytest.mark.row("NY-12")
def test_provisioners_that_are_no_list_of_mappings_are_refused() -> None:
    head = SAMPLE[: SAMPLE.index("    provisioners:")]
    assert "found a mapping for spec.kubernetes.provisioners, wanted a list" in the(
        f"{head}    provisioners: {{name: kubelet}}\n"
    )
    assert "found the text 'kubelet' for spec.kubernetes.provisioners[0], wanted a mapping" in the(
        f"{head}    provisioners: [kubelet]\n"
    )


@pytest.mark.row("NY-14")
@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("1.29", "'1.29', which YAML reads as a number (1.30 would become 1.3),"),
        ("1.30", "'1.30', which YAML reads as the number 1.3,"),
    ],
)
def test_a_version_that_yaml_takes_for_a_number_has_to_be_quoted(value: str, found: str) -> None:
    line = the(edited(("version: 1.29.0", f"version: {value}")))
    assert line == (
        f"node.yml:23:18: found {found} for {ITEM}.version, wanted a version as text, such as 1.29.0; "
        f'put it in quotes: "{value}".'
    )


@pytest.mark.row("NY-14")
@pytest.mark.parametrize(
    ("value", "found", "remedy"),
    [
        ("1_0", "'1_0', which YAML reads as the number 10,", ""),
        ("1", "'1', which YAML reads as a number,", ""),
        ("2", "'2', which YAML reads as a number,", ""),
        ("1:30:00", "'1:30:00', which YAML reads as the number 5400,", "; write it with dots: 1.30.0"),
        ("1:30", "'1:30', which YAML reads as the number 90,", "; write it with dots: 1.30"),
    ],
)
def test_quotes_are_no_advice_where_the_text_would_be_wrong_as_well(value: str, found: str, remedy: str) -> None:
    """Failed before: `version: 1` was to be written `"1"`, which was refused in the next run."""
    line = the(edited(("version: 1.29.0", f"version: {value}")))
    wanted = f"node.yml:23:18: found {found} for {ITEM}.version, wanted a version as text, such as 1.29.0{remedy}."
    assert line == wanted


@pytest.mark.row("NY-14")
@pytest.mark.parametrize("value", ['"1.29"', "1.29.0", "v1.29.0", "1.7.11", "v0.0.0-master+4a5f6e"])
def test_a_version_is_text(value: str) -> None:
    assert said(edited(("version: 1.29.0", f"version: {value}"))) == []


@pytest.mark.row("NY-14")
@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("latest", "'latest'"),
        ("1.x", "'1.x'"),
        ("'1'", "'1'"),
        ("1.29.0 beta", "'1.29.0 beta'"),
        ("''", "''"),
    ],
)
def test_text_that_is_no_version_is_refused(value: str, found: str) -> None:
    line = the(edited(("version: 1.29.0", f"version: {value}")))
    assert line == f"node.yml:23:18: found {found} for {ITEM}.version, wanted a version as text, such as 1.29.0."


@pytest.mark.row("NY-15", "PV-07")
@pytest.mark.parametrize(
    "source",
    [
        "http://xyz/kubelet.exe",
        "https://xyz:8443/a%20b.exe",
        "file:///srv/kubelet.exe",
        "./kubelet.exe",
        "../bin/kubelet",
        "/srv/kubelet.exe",
        "~/kubelet.exe",
        "'{{ mirror }}/kubelet.exe'",
    ],
)
def test_a_source_is_an_address_or_a_path_on_the_controller(source: str) -> None:
    assert said(edited(("http://xyz/kubelet.exe", source))) == []


@pytest.mark.row("NY-15", "PV-07")
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("ftp://xyz/kubelet.exe", "in which 'ftp' is a scheme that nothing here can fetch"),
        ("s3://bucket/kubelet.exe", "in which 's3' is a scheme that nothing here can fetch"),
        ("http:///kubelet.exe", "in which the host is missing"),
        ("http://xyz:port/kubelet.exe", "which is not a valid URL"),
        ("https://ann:pw@xyz/kubelet.exe", "which holds a user or a password"),
        ("file://kubelet.exe", "which is not a file address"),
        (r"c:\build\kubelet.exe", "which is a Windows path, but the file is taken from the controller"),
        ("http://xyz/ku belet.exe", "which holds a blank"),
        ("''", "found an empty value"),
    ],
)
def test_a_source_that_nothing_can_fetch_is_refused(source: str, reason: str) -> None:
    line = the(edited(("http://xyz/kubelet.exe", source)))
    assert line.startswith("node.yml:24:20: found ")
    assert reason in line


@pytest.mark.row("NY-16")
@pytest.mark.parametrize(
    "path",
    [r"c:\Program Files\containerd\bin\containerd.exe", r"C:\k\kubelet.exe", r"'D:\a b\c.d\x.exe'", "c:/k/kubelet.exe"],
)
def test_a_destination_is_kept_byte_for_byte(path: str) -> None:
    value = node(edited((r"c:\k\kubelet.exe", path))).get("spec", "kubernetes", "provisioners")
    assert value is not None
    assert plain(value)[1]["destination"] == path.strip("'")


@pytest.mark.row("NY-16")
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (r'"c:\bin\tool.exe"', r"found 'c:\bin\tool.exe' in double quotes"),
        (r'"c:\temp\net.exe"', r"found 'c:\temp\net.exe' in double quotes"),
        (r'"c:\Program Files\a.exe"', r"found 'c:\Program Files\a.exe' in double quotes"),
        (r'"c:\x.exe"', "a backslash in double quotes"),
        (r'"c:\Net\Logs.exe"', r"found 'c:\Net\Logs.exe' in double quotes"),
        (r'"c:\x41\x07.exe"', r"found 'c:A\a.exe' in double quotes"),
        ("kubelet.exe", "which is not absolute"),
        (r"\\server\share\kubelet.exe", "which is on another machine"),
        ("c:\\k\\", "which is a folder"),
        (r"c:\k\bin", "which looks like a folder"),
        (r"c:\k\ku?belet.exe", "wanted the absolute path of a file on the node"),
        ("/usr/bin/kubelet", "which is not absolute"),
    ],
)
def test_a_destination_that_is_no_path_of_a_file_is_refused(path: str, reason: str) -> None:
    line = the(edited((r"c:\k\kubelet.exe", path)))
    assert line.startswith("node.yml:25:22: found ")
    assert reason in line


@pytest.mark.row("NY-17")
def test_overwrite_is_false_by_default_as_the_schema_and_the_page_say() -> None:
    properties = schema.node_schema()["$defs"]["provisioner"]["properties"]
    assert properties["overwrite"] == {"type": "boolean", "default": False}
    assert "`overwrite` (default false)" in (ROOT / "docs" / "inventory.md").read_text(encoding="utf-8")


@pytest.mark.row("NY-17")
@pytest.mark.parametrize("value", ["true", "false"])
def test_overwrite_is_true_or_false(value: str) -> None:
    assert said(edited(("overwrite: true\n      - name", f"overwrite: {value}\n      - name"))) == []


@pytest.mark.row("NY-17")
@pytest.mark.parametrize("value", ['"true"', "1", "always"])
def test_overwrite_of_another_type_is_refused(value: str) -> None:
    line = the(edited(("overwrite: true\n      - name", f"overwrite: {value}\n      - name")))
    assert "for spec.kubernetes.provisioners[0].overwrite, wanted true or false" in line
    assert line.endswith("; leave out the quotes.") is (value == '"true"')
