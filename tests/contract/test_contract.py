"""Every case against the simulated node; and, where there is one, against a real PowerShell."""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.case import Case, Tree, all_cases
from tests.contract.check import differences, encode, failures
from tests.contract.powershell import Local, OnHost
from tests.contract.simulated import Simulated
from tests.contract.web import serve, serve_six
from tests.pwsh.report import STARTS
from tests.wine import pwsh

CASES = all_cases()


@pytest.fixture(scope="session")
def web() -> Iterator[str]:
    with serve() as address:
        yield address


@pytest.fixture(scope="session")
def six() -> Iterator[str | None]:
    with serve_six() as address:
        yield address


SIMULATED = [case for case in CASES if case.needs <= Simulated.provides]
DIFFERING = frozenset({"fetch", "move", "remove", "unpack", "wait", "write"})
"""Files whose ops lean on what .NET Framework and .NET do differently."""


@pytest.mark.parametrize("case", SIMULATED, ids=lambda case: case.id)
def test_simulated_node(case: Case, web: str, six: str | None) -> None:
    skip_without_six(case, six)
    wrong = failures(case, Simulated(web, six=six))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("case", [case for case in SIMULATED if case.file in DIFFERING], ids=lambda case: case.id)
def test_simulated_node_with_powershell_7(case: Case, web: str, six: str | None) -> None:
    skip_without_six(case, six)
    wrong = failures(case, Simulated(web, six=six, framework=False))
    assert not wrong, "\n".join(wrong)


def skip_without_six(case: Case, six: str | None) -> None:
    if "ipv6" in case.needs and six is None:
        pytest.skip("this machine has no IPv6")


@pytest.fixture(scope="session")
def powershell(web: str, six: str | None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local | OnHost]:
    """The PowerShell of WINKUBE_LAB_PWSH, else that for Windows of WINKUBE_LAB_PWSH_WINDOWS on Wine, else the Windows
    machine of WINKUBE_TEST_HOST."""
    windows = os.environ.get("WINKUBE_LAB_PWSH_WINDOWS")
    program, host = os.environ.get("WINKUBE_LAB_PWSH"), os.environ.get("WINKUBE_TEST_HOST")
    if program:
        with Local.started(program, web, six) as local:
            yield local
    elif windows:
        with (
            pwsh.started(Path(windows), tmp_path_factory.mktemp("wine")) as launched,
            Local.started(str(launched), web, six) as local,
        ):
            yield local
    elif host:
        with OnHost.reached(host) as reached:
            yield reached
    else:
        raise LookupError("conftest.py lets no test of lane pwsh run without a PowerShell")


@pytest.fixture
def starts(powershell: Local | OnHost, record_property: Callable[[str, object], None]) -> Iterator[None]:
    """How long each process of a module or a runner took goes with the report."""
    before = len(powershell.starts)
    yield
    record_property(STARTS, powershell.starts[before:])


@pytest.mark.lane("pwsh")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
@pytest.mark.usefixtures("starts")
def test_real_powershell(case: Case, powershell: Local | OnHost) -> None:
    wrong = failures(case, powershell)
    assert not wrong, "\n".join(wrong)


PROBE = json.dumps({"schema": 1, "state_dir": "C:\\none", "queries": []})
PACKED = base64.b64encode(gzip.compress(PROBE.encode(), mtime=0)).decode()
HIDDEN = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
FOLLOW = {"schema": 1, "kind": "follow", "id": "a" * 32, "state_dir": "C:\\none"}


def _shown(option: str, value: str) -> dict[str, Any]:
    return {"module_args": {option: value}}


def _unhandled(sentence: str) -> dict[str, Any]:
    return {"failed": True, "msg": f"The batch could not be handled: {sentence}"}


CALLS = [
    (
        "node_probe",
        {"request": PROBE},
        {"changed": False, "parts": {}, "invocation": {"module_args": {"request": PROBE}}},
    ),
    (
        "node_probe",
        {"request": PACKED},
        {"changed": False, "parts": {}, "invocation": {"module_args": {"request": PACKED}}},
    ),
    ("node_probe", {"request": "no JSON"}, {"failed": True, "msg": "~^The option request cannot be read: "}),
    ("node_probe", {}, {"failed": True, "msg": "The option request is missing.", "exception": "~missing"}),
    (
        "node_probe",
        {"request": PROBE, "colour": 1},
        {"failed": True, "msg": "~^Unsupported parameter colour: .* request "},
    ),
    ("node_probe", {"request": "{"}, {"failed": True, "msg": "~^The option request cannot be read: "}),
    ("node_probe", {"request": "{}"}, {"failed": True, "msg": "The option request has not schema 1."}),
    ("node_apply", {}, {"failed": True, "msg": "The batch could not be handled: The option batch is missing."}),
    ("node_apply", {"batch": "secret"}, {"failed": True, "invocation": _shown("batch", HIDDEN)}),
    ("node_apply", {"batch": encode({})}, _unhandled("The envelope has not schema 1.")),
    ("node_apply", {"batch": encode({**FOLLOW, "schema": 2})}, _unhandled("The envelope has not schema 1.")),
    *(
        ("node_apply", {"batch": encode({**FOLLOW, name: ""})}, _unhandled(f"The envelope needs {name}."))
        for name in ("kind", "id", "state_dir")
    ),
    (
        "node_apply",
        {"batch": encode({**FOLLOW, "id": "A" * 32})},
        _unhandled(f"The envelope's id '{'A' * 32}' is not 32 hexadecimal digits."),
    ),
    (
        "node_apply",
        {"batch": "A" * (4 * 1024 * 1024 + 1)},
        _unhandled("The option batch has 4194305 characters; at most 4194304 are taken."),
    ),
    (
        "node_apply",
        {"batch": encode({**FOLLOW, "kind": "submit"})},
        {"answer": "refused", "reason": "A submit needs a batch.", "changed": False},
    ),
]
"""What Ansible.Basic did for modules before they did without it: (module, arguments, what is in the answer). Each call
is made with verbosity 3."""


@pytest.mark.parametrize(("module", "arguments", "wanted"), CALLS)
def test_simulated_module(module: str, arguments: dict[str, Any], wanted: dict[str, Any], web: str) -> None:
    on = Simulated(web)
    on.prepare(Tree())
    assert list(differences(wanted, on.call(module, arguments))) == []


@pytest.mark.lane("pwsh")
@pytest.mark.parametrize(("module", "arguments", "wanted"), CALLS)
@pytest.mark.usefixtures("starts")
def test_real_module(
    module: str, arguments: dict[str, Any], wanted: dict[str, Any], powershell: Local | OnHost
) -> None:
    assert list(differences(wanted, powershell.run(module, arguments))) == []
