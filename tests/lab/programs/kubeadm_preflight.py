"""kubeadm.exe's preflight, judged by kubernetes v1.37.1 cmd/kubeadm/app/preflight/checks.go.

What `kubeadm join` looks at before it does anything.

Sources: kubernetes cmd/kubeadm/app/preflight/checks.go (JoinNodeChecks, addCommonChecks, KubeletVersionCheck),
checks_windows.go; kubernetes/system-validators validators/kernel_validator.go, types_windows.go (SystemVerification).
Names of checks with Windows' backslashes are unverified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.lab.machine.builds import identify
from tests.lab.machine.errors import WinError
from tests.lab.machine.program import Caller
from tests.lab.programs.cri import connect
from tests.lab.programs.flags import minor_of
from tests.lab.programs.kubeadm_config import Join, JoinError
from tests.lab.programs.lookup import NotFoundError, look_up

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode


TOKEN_FROM = 31
"""From this minor on the process token is asked (kubernetes#124665). Before, checks_windows.go calls
user.Current().GroupIds(), which fails for LocalSystem: "The user name could not be found" (kubernetes#108140)."""
SYSTEM = "S-1-5-18"
XCOPY_FROM = 33
"""Source: checks_windows.go, addExecChecks: there in 1.33.13, not yet in 1.32.0."""
OLDEST_BUILD = 14393
"""Of Windows. Source: kubernetes/system-validators validators/types_windows.go, DefaultSysSpec."""


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
    _check_programs(node, minor, caller, errors)
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


def _check_programs(node: SimulatedNode, minor: int, caller: Caller, errors: list[tuple[str, str]]) -> None:
    """In every release the build of Windows is asked of `powershell`."""
    if minor >= XCOPY_FROM:
        try:
            look_up(node.drive, caller, "xcopy")
        except NotFoundError:
            errors.append(("FileExisting-xcopy", "xcopy not found in system path"))
    build = node.release.build
    try:
        found = look_up(node.drive, caller, "powershell")
        node.build_of(found)
    except (NotFoundError, WinError) as error:
        errors.append(("SystemVerification", f"failed to get kernel release: {error}"))
        return
    if build < OLDEST_BUILD:
        said = f"kernel release 10.0.{build} is unsupported. The kernel version should be >= '10.0.{OLDEST_BUILD}'"
        errors.append(("SystemVerification", said))


def _check_kubelet(node: SimulatedNode, minor: int, caller: Caller, errors: list[tuple[str, str]]) -> None:
    """k8s.io/utils/exec, unlike os/exec, starts what lies in the current folder."""
    try:
        found = look_up(node.drive, caller, "kubelet", takes_current=True)
    except NotFoundError as error:
        said = f"couldn't get kubelet version: cannot execute 'kubelet --version': {error}"
        errors.append(("KubeletVersion", said))
        return
    build = identify(node.drive.read(found))
    if build is None or build.name != "kubelet":
        errors.append(("KubeletVersion", "couldn't get kubelet version: cannot execute 'kubelet --version'"))
        return
    if minor_of(build.version) < minor - (3 if minor >= 29 else 1):
        errors.append(("KubeletVersion", f"Kubelet version {build.version} is lower than kubeadm can support"))
