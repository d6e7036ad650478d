"""Text that is not YAML, or YAML that is not what was meant: each pitfall has a sentence with place and remedy."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml import document

from .samples import FIXTURES, ROOT, SAMPLE, edited, said


@pytest.mark.row("NY-13")
def test_the_printed_sample_is_refused_with_its_stray_colon_named() -> None:
    printed = (FIXTURES / "sample-as-printed.yml").read_text(encoding="utf-8")
    assert said(printed) == [
        "node.yml:17:25: found 'name: containerd:' with a stray colon at the end, which YAML cannot read; "
        "wanted 'name: containerd': remove the colon."
    ]


@pytest.mark.row("NY-13")
def test_the_corrected_sample_differs_from_the_printed_one_by_that_colon_alone() -> None:
    printed = (FIXTURES / "sample-as-printed.yml").read_text(encoding="utf-8")
    assert printed.replace("- name: containerd:\n", "- name: containerd\n") == SAMPLE
    assert said(SAMPLE) == []


@pytest.mark.row("NY-13")
@pytest.mark.parametrize("page", ["README.md", "docs/getting-started.md", "docs/inventory.md", "docs/lab-setup.md"])
def test_the_pages_show_nodes_that_can_be_read(page: str) -> None:
    blocks = (ROOT / page).read_text(encoding="utf-8").split("```yaml\n")[1:]
    nodes = [text for block in blocks if "windows.k8s.io" in (text := block.split("```")[0])]
    assert nodes
    for text in nodes:
        assert said(text) == []


@pytest.mark.row("NY-13")
def test_what_else_is_wrong_is_said_together_with_the_stray_colon() -> None:
    text = edited(
        ("name: containerd", "name: containerd:"), ("sourceURL: http://xyz/kubelet", "sourceUrl: http://xyz/kubelet")
    )
    assert [line.split(": ")[0] for line in said(text)] == ["node.yml:17:25", "node.yml:24:9"]


@pytest.mark.row("NY-20")
def test_the_copy_without_nesting_is_refused_where_it_breaks() -> None:
    (line,) = said((FIXTURES / "sample-without-nesting.yml").read_text(encoding="utf-8"))
    assert line.startswith("node.yml:3:7: found the key 'name' indented below a line that has a value already")
    assert "'metadata:' or 'spec:'" in line


@pytest.mark.parametrize(
    ("old", "new", "place", "found", "remedy"),
    [
        ("  setup:\n", "\tsetup:\n", "10:1", "a tab in the indentation", "replace it"),
        ("username: Administrator", "username: @admin", "7:15", "@ at the beginning of a value", "in quotes"),
        ("username: Administrator", "username: *admin", "7:15", "a * that begins an undefined YAML alias", "in quotes"),
        ("username: Administrator", "username: &admin", "7:5", "nothing for spec.credentials.username", "in quotes"),
        ("username: Administrator", "username: !admin", "7:15", "a ! at the beginning", "in quotes"),
        ("username: Administrator", "username: 'Administrator", "7:15", "a quote that is never closed", "second quote"),
        ("username: Administrator", "username: {{ user }}", "7:15", "a template without quotes", "quotes around it"),
        ("username: Administrator", "username: a: b", "7:16", "a second ': ' in one line", "in quotes"),
        ("kind: Node", "kind Node", "2:1", "a line without a colon", "add the colon"),
        (
            "    username: Administrator",
            "    username Administrator",
            "8:13",
            "below a line without a colon",
            "same indentation",
        ),
        (
            "username: Administrator",
            "username: a\n    username: b",
            "8:5",
            "the key 'username' a second time (first on line 7)",
            "once",
        ),
        (r"c:\k\kubelet.exe", r'"c:\k\kubelet.exe"', "25:22", "a backslash in double quotes", "single quotes"),
        ("username: Administrator", "username: a\x07b", "7:16", "the character U+0007", "remove it"),
        ("version: 1.29.0", "version: 2024-13-77", "23:18", "which YAML reads as a date", "wanted a version as text"),
    ],
)
def test_a_pitfall_has_a_sentence(old: str, new: str, place: str, found: str, remedy: str) -> None:
    lines = said(edited((old, new)))
    assert lines[0].startswith(f"node.yml:{place}: found ")
    assert found in lines[0]
    assert remedy in lines[0]


def test_every_line_that_is_indented_by_a_tab_is_named() -> None:
    text = edited(("    username", "\tusername"), ("    hostname", "\thostname"))
    assert [line.split(": ")[0] for line in said(text)] == ["node.yml:7:1", "node.yml:8:1"]


def test_mistakes_of_all_documents_are_said_at_once() -> None:
    broken = edited(("username: Administrator", "username: 'Administrator"))
    misspelt = edited(("name: sample", "name: other"), ("enableRDP: true", "enableRdp: true"))
    places = [line.split(": ")[0] for line in said(f"{broken}---\n{misspelt}")]
    assert places == ["node.yml:7:15", "node.yml:38:5"]


def test_a_merge_key_and_an_alias_are_followed() -> None:
    text = edited(
        (
            "    provisioners:\n",
            "    provisioners:\n      - &item\n        name: kube-proxy\n        sourceURL: ./a.exe\n",
        ),
        (
            "      - name: kubelet\n        version: 1.29.0\n        sourceURL: http://xyz/kubelet.exe\n",
            "      - <<: *item\n        name: kubelet\n",
        ),
    )
    items = [item.get("sourceURL") for item in document.provisioners(document.read(text).nodes[0])]
    assert [item.value for item in items if item is not None and hasattr(item, "value")] == [
        "./a.exe",
        "http://xyz/containerd.exe",
        "./a.exe",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---\n",
        "\0",
        "[" * 5000,
        "- " * 3000 + "x",
        "%YAML 9",
        "a: &a [*a]",
        "? [a]\n: b",
        '"',
        "{a: " * 40 + "}" * 40,
    ],
    ids=["empty", "marker", "nul", "brackets", "dashes", "directive", "endless", "complex", "quote", "deep"],
)
def test_rubbish_yields_sentences_and_no_traceback(text: str) -> None:
    lines = said(text)
    assert lines
    assert all(": found " in line for line in lines)


def test_an_alias_that_repeats_itself_without_end_is_stopped() -> None:
    levels = ["a: &a [1,1,1,1,1,1,1,1,1,1]"]
    levels += [
        f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]" for before, name in zip("abcdef", "bcdefg", strict=True)
    ]
    lines = said("\n".join(["apiVersion: windows.k8s.io/v1alpha1", *levels]))
    assert any("its aliases make more than" in line for line in lines)
