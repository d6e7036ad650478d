"""nssm.exe: its version and source, and the sentence if it is missing or has another version."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import nssm
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused

from .nodes import LAYOUT, bare, lines

ZIP = "https://nssm.cc/release/nssm-2.24.zip"
SHA256 = "727d1e42275c605e0f04aba98095c38a8e1e46def453cdffce42869428aa6743"
MARK = "0123456789abcdef"


def source(url: str, checksum: str = "") -> nssm.NssmSource | None:
    return nssm.nssm_source(url=url, checksum=checksum, proxy=None, unverified=(), read_url=lambda _: "")


def node(version: str | None = None) -> Reading:
    """With this nssm.exe, or with none."""
    there: dict[str, Any] = {"exists": True, "kind": "file", "version": version} if version else {"exists": False}
    return bare(nssm.reads(LAYOUT)).merge({file_key(r"C:\k\nssm.exe"): there})


@pytest.mark.row("SV-21")
def test_the_64_bit_program_comes_out_of_the_publishers_zip() -> None:
    found = source(ZIP)
    assert found is not None
    assert (found.source.version, found.source.sha256) == ("2.24", SHA256)
    assert found.member == "nssm-2.24/win64/nssm.exe"
    made = make_plan("kubelet", nssm.build_resources(LAYOUT, found, MARK), node()).batch
    assert made is not None
    assert [line for line in lines(made.ops) if line.startswith("move")] == [
        r"move C:\ProgramData\winkube\staging\nssm-01234567\nssm.exe -> C:\k\nssm.exe"
    ]


@pytest.mark.row("SV-21")
@pytest.mark.parametrize("version", ["2.24", "2.24.0.0", "2.24-101-g897c7ad"])
def test_what_is_there_and_is_2_24_stays(version: str) -> None:
    made = make_plan("kubelet", nssm.build_resources(LAYOUT, None, MARK), node(version)).batch
    assert made is not None
    assert lines(made.ops) == [r"mkdir C:\k"], "its folder is for administrators, that is all"


@pytest.mark.row("SV-21")
@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        (None, r"there is no C:\\k\\nssm.exe, and nssm_source.url is empty. Put nssm 2.24 there"),
        ("2.16", r"C:\\k\\nssm.exe says that it is version 2.16, but 2.24 is needed"),
        ("2.240", "says that it is version 2.240, but 2.24 is needed"),
    ],
)
def test_none_or_another_is_refused(version: str | None, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        make_plan("kubelet", nssm.build_resources(LAYOUT, None, MARK), node(version))


@pytest.mark.row("SV-21")
@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("https://nssm.cc/release/nssm-2.16.zip", "is version 2.16, but 2.24 is needed"),
        ("https://xyz/tools.zip", r"neither nssm's own zip by its name \(nssm-2.24.zip\) nor nssm.exe itself"),
        ("https://xyz/nssm.exe", "nssm: the source .* has no checksum"),
    ],
)
def test_sources_that_are_refused(url: str, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        source(url)
