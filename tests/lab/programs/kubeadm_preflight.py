"""What `kubeadm join` looks at before it does anything.

Source: kubernetes cmd/kubeadm/app/preflight/checks.go (JoinNodeChecks, addCommonChecks), checks_windows.go. The program
`kubelet` is looked for in the current folder and in Path (KubeletVersionCheck; k8s.io/utils/exec lets Go take it from
the current folder); names of checks with Windows' backslashes are unverified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.lab.machine.errors import WinError
from tests.lab.programs.builds import identify
from tests.lab.programs.cri import connect
from tests.lab.programs.flags import minor_of
from tests.lab.programs.kubeadm_config import Join, JoinError
from tests.lab.programs.program import Caller

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode


TOKEN_FROM = 31
"""From this minor on the process token is asked (kubernetes#124665). Before, checks_windows.go calls
user.Current().GroupIds(), which fails for LocalSystem: "The user name could not be found" (kubernetes#108140)."""
SYSTEM = "S-1-5-18"


def check(node: SimulatedNode, minor: int, join: Join, caller: Caller, kubelet_conf: str, bootstrap: str) -> list[str]:
    """Warnings. JoinError with all errors that nobody has ignored."""
    errors: list[tuple[str, str]] = []
    warnings: list[tuple[str, str]] = []
    if minor < TOKEN_FROM and caller.user == SYSTEM:
        errors.append(("IsPrivilegedUser", "cannot get group IDs for current user"))
    elif not caller.elevated:
        errors.append(("IsPrivilegedUser", "user is not running as administrator"))
    for path in (kubelet_conf, bootstrap, join.ca_path):
        short = path.removeprefix("C:")
        if node.drive.exists(path):
            errors.append((f"FileAvailable-{short.replace('/', '-')}", f"{short} already exists"))
    runtime = connect(node, join.socket, minor)
    if isinstance(runtime, str):
        errors.append(("CRI", f"container runtime is not running: {runtime}"))
    if join.name != join.hostname:
        warnings.append(("Hostname", f'hostname "{join.name}" could not be reached'))
    _check_kubelet(node, minor, caller, errors)
    if not node.services.exists("kubelet"):
        warnings.append(("Service-Kubelet", "kubelet service does not exist"))
    elif node.services.config("kubelet").start not in {2}:
        warnings.append(("Service-Kubelet", "kubelet service is not enabled, please run 'Set-Service'"))
    if 10250 in node.network.listeners:
        errors.append(("Port-10250", "Port 10250 is in use"))
    fatal = [item for item in errors if not {"all", item[0].lower()} & join.ignored]
    warnings += [item for item in errors if item not in fatal]
    if fatal:
        said = "".join(f"\t[ERROR {name}]: {what}\n" for name, what in fatal)
        raise JoinError(
            f"[preflight] Some fatal errors occurred:\n{said}[preflight] If you know what you are doing, you can make "
            "a check non-fatal with `--ignore-preflight-errors=...`"
        )
    return [f"\t[WARNING {name}]: {what}" for name, what in warnings]


def _check_kubelet(node: SimulatedNode, minor: int, caller: Caller, errors: list[tuple[str, str]]) -> None:
    path = next(
        (value for name, value in caller.environment.items() if name.lower() == "path"),
        "",
    )
    folders = [caller.cwd, *path.split(";")]
    found = next(
        (
            f"{folder}\\kubelet.exe"
            for folder in (one.rstrip("\\") for one in folders)
            if folder and _is_program(node, folder)
        ),
        None,
    )
    if found is None:
        errors.append(
            (
                "KubeletVersion",
                "couldn't get kubelet version: cannot execute 'kubelet --version': exec: "
                '"kubelet": executable file not found in %PATH%',
            )
        )
        return
    build = identify(node.drive.read(found))
    if build is None or build.name != "kubelet":
        errors.append(("KubeletVersion", "couldn't get kubelet version: cannot execute 'kubelet --version'"))
        return
    if minor_of(build.version) < minor - (3 if minor >= 29 else 1):
        errors.append(("KubeletVersion", f"Kubelet version {build.version} is lower than kubeadm can support"))


def _is_program(node: SimulatedNode, folder: str) -> bool:
    try:
        return node.drive.is_file(f"{folder}\\kubelet.exe")
    except WinError:  # a Path entry that is no path
        return False
