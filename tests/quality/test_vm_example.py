"""examples/vm as far as it can be checked without a machine: the answer file's form, the scripts by shellcheck."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.quality.sanity import ROOT

VM = ROOT / "examples" / "vm"
SPACE = {"u": "urn:schemas-microsoft-com:unattend"}
# Source: learn.microsoft.com, Windows Setup configuration passes; components of each pass.
PASSES = {
    "windowsPE": {
        "Microsoft-Windows-International-Core-WinPE",
        "Microsoft-Windows-PnpCustomizationsWinPE",
        "Microsoft-Windows-Setup",
    },
    "specialize": {"Microsoft-Windows-Shell-Setup"},
    "oobeSystem": {"Microsoft-Windows-Shell-Setup"},
}


@pytest.fixture(scope="module")
def answers() -> ElementTree.Element:
    return ElementTree.fromstring((VM / "autounattend.xml").read_text(encoding="utf-8"))


def test_every_component_is_one_of_its_pass(answers: ElementTree.Element) -> None:
    assert answers.tag == f"{{{SPACE['u']}}}unattend"
    found = {
        settings.attrib["pass"]: {component.attrib["name"] for component in settings.findall("u:component", SPACE)}
        for settings in answers.findall("u:settings", SPACE)
    }
    assert found == PASSES
    for component in answers.iterfind(".//u:component", SPACE):
        rest = {key: value for key, value in component.attrib.items() if key != "name"}
        assert rest == {
            "processorArchitecture": "amd64",
            "publicKeyToken": "31bf3856ad364e35",
            "language": "neutral",
            "versionScope": "nonSxS",
        }


def test_windows_goes_onto_the_partition_that_is_made_for_it(answers: ElementTree.Element) -> None:
    kinds = [one.findtext("u:Type", "", SPACE) for one in answers.iterfind(".//u:CreatePartition", SPACE)]
    assert kinds == ["EFI", "MSR", "Primary"]
    assert answers.findtext(".//u:InstallTo/u:PartitionID", "", SPACE) == str(kinds.index("Primary") + 1)
    formats = {
        one.findtext("u:PartitionID", "", SPACE): one.findtext("u:Format", "", SPACE)
        for one in answers.iterfind(".//u:ModifyPartition", SPACE)
    }
    assert formats == {"1": "FAT32", "3": "NTFS"}


@pytest.mark.parametrize("list_of", ["CreatePartition", "ModifyPartition", "SynchronousCommand"])
def test_orders_count_from_one(answers: ElementTree.Element, list_of: str) -> None:
    orders = [one.findtext("u:Order", "", SPACE) for one in answers.iterfind(f".//u:{list_of}", SPACE)]
    assert orders == [str(number) for number in range(1, len(orders) + 1)] != []


def test_the_first_logon_finds_what_the_script_puts_onto_the_cd(answers: ElementTree.Element) -> None:
    lines = [one.text or "" for one in answers.iterfind(".//u:SynchronousCommand/u:CommandLine", SPACE)]
    script = (VM / "windows.sh").read_text(encoding="utf-8")
    for name in ("bootstrap-ssh.ps1", "winkube.pub"):
        assert name in lines[0] and name in script
    assert all(len(line) <= 1024 for line in lines), "Setup takes no longer CommandLine"
    placeholders = {"@NAME@", "@PASSWORD@"}
    text = (VM / "autounattend.xml").read_text(encoding="utf-8")
    assert all(name in text and f"s/{name}/" in script for name in placeholders)


def test_the_machine_boots_the_cd_and_comes_back_after_the_first_restart() -> None:
    script = (VM / "windows.sh").read_text(encoding="utf-8")
    before, _, after = script.partition("\nvirt-install ")
    assert "--boot uefi " in after and ' send-key "$name" ' in before, "UEFI asks for a key"
    assert "--wait -1\n" in after, "else nobody starts the machine again"


@pytest.mark.parametrize("name", ["windows.sh", "control-plane.sh"])
def test_scripts_are_sound_and_say_how_they_are_called(name: str) -> None:
    checked = subprocess.run(
        [str(Path(sys.prefix) / "bin" / "shellcheck"), str(VM / name)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout
    called = subprocess.run(["bash", str(VM / name)], capture_output=True, text=True, check=False)
    assert called.returncode == 1 and f"./{name}" in called.stderr


def test_node_and_control_plane_agree() -> None:
    spec = yaml.safe_load((VM / "win1.yml").read_text(encoding="utf-8"))["spec"]
    script = (VM / "control-plane.sh").read_text(encoding="utf-8")
    assert f"--pod-network-cidr {spec['network']['clusterCIDR']} " in script
    assert f"--service-cidr {spec['network']['serviceCIDR']}\n" in script
    assert '"VNI": 4096, "Port": 4789' in script and spec["network"]["mode"] == "overlay"
    page = (ROOT / "docs" / "vm.md").read_text(encoding="utf-8")
    minor = ".".join(str(spec["kubernetes"]["version"]).split(".")[:2])
    assert f"./control-plane.sh {minor} " in page
