"""What is kept in a cache, when it is believed, and names that two files have."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml import reading, variables

from .samples import SAMPLE, WHOLE, edited, host, node

VAULTED = "password: !vault |\n      $ANSIBLE_VAULT;1.1;AES256\n      3061"


def _refuse(path: Path) -> str:
    raise AssertionError(path)


READER = reading.Reader(_refuse, lambda scalar: scalar.value, agent=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "node.yml"
    made.write_text(SAMPLE, encoding="utf-8")
    return made


@pytest.mark.row("NY-08", "SE-14")
@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("privateKey:", "privateKey: /k", True),
        ("privateKey:", "password:", True),
        ("privateKey:", "password: secret", False),
        ("privateKey:", VAULTED, False),
        ("privateKey:", "privateKey: '{{ key }}'", False),
        ("http://xyz/kubelet.exe", "'{{ mirror }}/kubelet.exe'", False),
        ("- vim", "- !unsafe vim", False),
    ],
)
def test_a_secret_or_a_template_is_never_cached(old: str, new: str, kept: bool) -> None:
    assert variables.cacheable(node(edited((old, new)))) == kept


@pytest.mark.row("NY-08", "SE-14")
def test_a_file_with_one_such_node_is_not_cached_at_all(path: Path) -> None:
    assert reading.read(path, READER).cacheable
    secret = edited(("name: sample", "name: other"), ("privateKey:", "password: secret"))
    path.write_text(f"{SAMPLE}---\n{secret}", encoding="utf-8")
    assert not reading.read(path, READER).cacheable


@pytest.mark.row("NY-08", "SE-14")
def test_a_vaulted_file_is_not_cached_and_none_of_its_values_is_shown(path: Path) -> None:
    path.write_text("$ANSIBLE_VAULT;1.1;AES256\n3061\n", encoding="utf-8")

    def holding(text: str) -> reading.Reading:
        return reading.read(path, replace(READER, decrypt=lambda _path: text))

    right = holding(edited(("privateKey:", "privateKey: /k")))
    assert [host.name for host in right.hosts] == ["sample"]
    assert not right.cacheable
    (problem,) = holding(edited(("192.168.122.220:22", "hunter2:0"))).problems
    assert "spec.credentials.hostname" in problem and "hunter2" not in problem
    misplaced = edited(("chocoPackages:\n      - vim\n      - grep", "chocoPackages: hunter2"))
    (problem,) = holding(misplaced).problems
    assert "found a value that is not shown for spec.setup.chocoPackages, wanted a list of" in problem
    (problem,) = holding(edited(("enableRDP: true", "enableRDP: 'yes'"))).problems
    assert problem.endswith(
        "found a value that is not shown for spec.setup.enableRDP, wanted true or false; leave out the quotes."
    )
    (problem,) = holding(edited(("privateKey:", "password: [hunter2]"))).problems
    assert problem.endswith(
        "found a list for spec.credentials.password, wanted text, a !vault value or a template in quotes."
    )


def test_a_reading_survives_the_cache_as_json(path: Path) -> None:
    path.write_text(f"{SAMPLE}---\n{WHOLE}", encoding="utf-8")
    first = reading.read(path, READER)
    mark = reading.fingerprint(path, READER)
    assert mark is not None
    kept = json.loads(json.dumps(reading.to_cache(first, mark)))
    assert reading.from_cache(kept, mark) == first


def test_the_cache_is_believed_only_for_the_same_file_and_rules(path: Path) -> None:
    mark = reading.fingerprint(path, READER)
    assert mark is not None
    assert mark == reading.fingerprint(path, READER)
    kept = reading.to_cache(reading.read(path, READER), mark)
    assert reading.fingerprint(path, replace(READER, agent=True)) != mark
    assert reading.fingerprint(path.with_name("none.yml"), READER) is None
    os.utime(path, ns=(1, 1))
    changed = reading.fingerprint(path, READER)
    assert changed != mark
    assert reading.from_cache(kept, changed) is None
    assert reading.from_cache(kept, None) is None
    assert reading.from_cache(None, mark) is None
    path.write_text(f"{SAMPLE}\n", encoding="utf-8")
    os.utime(path, ns=(1, 1))
    assert reading.fingerprint(path, READER) != changed


@pytest.mark.row("NY-03")
def test_a_name_of_another_file_is_refused_naming_both_places() -> None:
    one, other = host(SAMPLE), replace(host(edited(("name: sample", "name: SAMPLE"))), source="b.yml:4:9")
    sentence = (
        "b.yml:4:9: found a second node 'sample' (first in node.yml:4:9), wanted each name once; rename one of the two."
    )
    assert list(reading.find_names_twice((one, other), {})) == [sentence]
    assert list(reading.find_names_twice((other,), {"sample": "node.yml:4:9"})) == [sentence]
    assert list(reading.find_names_twice((one, one), {"other": "c.yml:1:1"})) == []


def test_an_address_of_another_file_is_told_with_both_places() -> None:
    one, other = host(SAMPLE), replace(host(edited(("name: sample", "name: other"))), source="b.yml:4:9")
    (sentence,) = reading.find_addresses_twice((one, other), {})
    assert sentence.startswith(
        "b.yml:4:9: found the address 192.168.122.220:22 of 'other' a second time (first in node.yml:"
    )
    known = {reading.address_of(one.variables): "node.yml:4:9"}
    assert list(reading.find_addresses_twice((other,), known)) == [sentence]
    assert list(reading.find_addresses_twice((one, one), {})) == []
    assert reading.address_of({"ansible_host": "{{ address }}"}) == ""


def test_messages_name_a_file_from_the_current_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    assert reading.file_name(path) == "node.yml"
    assert reading.file_name(Path("node.yml")) == "node.yml"
    assert reading.file_name(Path("/etc/node.yml")) == "/etc/node.yml"


@pytest.mark.row("NY-18")
def test_a_file_that_is_ours_and_wrong_is_told_with_its_place(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    path.write_text(edited(("1.7.11", "newest")), encoding="utf-8")
    assert reading.read(path, READER) == reading.Reading(
        hosts=(),
        problems=(
            "node.yml:18:18: found 'newest' for spec.kubernetes.provisioners[0].version, wanted a version as text, "
            "such as 1.29.0.",
        ),
        notices=(),
        cacheable=False,
    )


@pytest.mark.row("NY-18")
def test_a_fifo_is_skipped_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed before: it was opened, and the run waited for who writes into it."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.yml")
    found = reading.read(tmp_path / "pipe.yml", READER)
    assert found == reading.Reading(notices=(("warning", "pipe.yml is a FIFO and no file; it is skipped."),))


@pytest.mark.row("NY-18")
def test_a_file_that_is_too_large_is_refused_unread(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed before: 60 MB of YAML were read, which takes minutes and gigabytes."""
    monkeypatch.chdir(path.parent)
    with path.open("ab") as stream:
        stream.truncate(60 * 2**20)
    monkeypatch.setattr(Path, "read_bytes", _refuse)
    (problem,) = reading.read(path, READER).problems
    assert problem == "node.yml:1:1: found a file of 60.0 MB, wanted at most 8 MB; give several files in a folder."
