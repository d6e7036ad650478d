"""`make test FILES="..."`: what belongs to a change."""

from __future__ import annotations

import pytest

from tests.select import CORE, select

pytestmark = pytest.mark.slow  # every file of the project is parsed once: 2 s
SCENARIOS = "tests/integration/test_"


def scenarios(*names: str) -> set[str]:
    return {one for one in select(names) if one.startswith("tests/integration")}


def test_a_test_is_itself_and_the_files_are_looked_at() -> None:
    assert select(["tests/unit/test_select.py"]) == ["tests/quality", "tests/unit/test_select.py"]


def test_imports_are_followed_by_however_many_steps() -> None:
    """test_link.py imports link.py, which imports batch.py."""
    assert "tests/unit/node/test_link.py" in select(["plugins/plugin_utils/node/link.py"])
    assert "tests/unit/node/test_link.py" in select(["plugins/plugin_utils/engine/batch.py"])
    assert "tests/unit/test_select.py" in select(["tests/select/__init__.py"])


def test_what_the_registry_imports_by_itself_belongs_to_it() -> None:
    """No line names programs/csi_proxy.py: the registry takes every module of the folder."""
    assert "tests/unit/components/test_registry.py" in select(["plugins/plugin_utils/components/programs/csi_proxy.py"])


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ("roles/flannel/tasks/main.yml", "flannel"),
        ("playbooks/test.yml", "smoke"),
        ("plugins/action/win_k8s_reset.py", "reset"),
        ("plugins/modules/win_k8s_reset.py", "reset"),
        ("plugins/plugin_utils/workload_tests/smoke/workload.py", "smoke"),
        ("plugins/plugin_utils/node_yaml/schema.py", "inventory"),
        ("tests/lab/programs/nssm.py", "nssm"),
    ],
)
def test_scenarios_belong_by_name(changed: str, wanted: str) -> None:
    found = scenarios(changed)
    assert f"{SCENARIOS}{wanted}.py" in found
    assert len(found) < 12, found


IMPORTING = {
    f"{SCENARIOS}{name}.py"
    for name in ("remedies", "golden_image", "host_process", "optional", "flannel", "in_cluster", "in_container")
}
"""They take the remedies from the table of the diagnosis, or what no image may have from the components, and with that
most of the engine."""


@pytest.mark.parametrize(
    "changed", ["plugins/plugin_utils/engine/batch.py", "plugins/modules/node_apply.ps1", "tests/lab/machine/drive.py"]
)
def test_the_core_has_scenarios_of_its_own(changed: str) -> None:
    assert scenarios(changed) - IMPORTING == set(CORE)


def test_a_component_of_the_core_has_its_own_as_well() -> None:
    found = scenarios("plugins/plugin_utils/components/kubelet/kubelet.py")
    assert found - IMPORTING == {*CORE, f"{SCENARIOS}kubelet.py"}


def test_powershell_has_its_parser_and_the_contract() -> None:
    assert {"tests/contract", "tests/unit/powershell"} < set(select(["powershell/shared/state.ps1"]))


def test_a_page_has_the_tests_that_name_it() -> None:
    assert "tests/unit/docs/test_docs.py" in select(["docs/errors.md"])


def test_a_file_of_others_is_refused() -> None:
    with pytest.raises(SystemExit, match="/etc/passwd is not a file of this project"):
        select(["/etc/passwd"])
