"""The module chocolatey.chocolatey.win_chocolatey as a simulated node answers it: install, and bring to a version.

Which calls it makes, its sentences and results. Source: chocolatey.chocolatey 1.6.0, plugins/modules/win_chocolatey.ps1
and plugins/module_utils/Packages.psm1 (Install-Chocolatey, Install-ChocolateyPackage, Update-ChocolateyPackage).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tests.lab.machine import image
from tests.lab.machine.builds import build
from tests.lab.twin import choco
from tests.lab.twin.choco_feed import SCRIPT
from tests.lab.twin.modules_process import Answer, Work, failed, work_in_session
from tests.lab.twin.modules_windows import refuse

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.session import Session

OPTIONS = frozenset(
    {
        "allow_empty_checksums", "allow_multiple", "allow_prerelease", "architecture", "bootstrap_script",
        "bootstrap_tls_version", "checksum", "checksum_type", "checksum64", "checksum_type64", "choco_args", "force",
        "ignore_checksums", "ignore_dependencies", "ignore_pinned", "install_args", "name", "override_args",
        "package_params", "pinned", "proxy_password", "proxy_url", "proxy_username", "remove_dependencies",
        "skip_scripts", "source", "source_password", "source_username", "state", "timeout", "validate_certs", "version",
    }
)  # fmt: skip
SECRET = frozenset({"proxy_password", "source_password"})
_DONE = {
    "name", "state", "version", "source", "bootstrap_script", "choco_args", "proxy_url", "proxy_username",
    "proxy_password",
}  # fmt: skip
_NET = "HKLM\\SOFTWARE\\Microsoft\\NET Framework Setup\\NDP\\v4\\Full"
_SUCCESS = (0, 1605, 1614, 1641, 3010)
_MISSING = "Chocolatey was missing from this system, so it was installed during this task run."


class _FailedError(Exception):
    """The module's answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer["msg"])
        self.answer = answer


def win_chocolatey(
    node: SimulatedNode,
    session: Session,
    arguments: Mapping[str, Any],
    check_mode: bool,
    environment: Mapping[str, str],
) -> Answer:
    """`state` present or downgrade. `environment`: what the task adds to that of its process."""
    refuse("win_chocolatey", arguments, _DONE)
    if arguments.get("state") not in {None, "present", "downgrade"}:
        refuse("win_chocolatey", {f"state {arguments['state']}": True}, set())
    run = _Run(node, session.elevated, arguments, check_mode, environment)
    return work_in_session(node, session, "win_chocolatey", run.work())


class _Run:
    def __init__(
        self,
        node: SimulatedNode,
        elevated: bool,
        arguments: Mapping[str, Any],
        check_mode: bool,
        environment: Mapping[str, str],
    ) -> None:
        self.node = node
        self.elevated = elevated
        self.given = arguments
        self.check_mode = check_mode
        self.environment = {**image.machine_environment(node.registry), **environment}
        self.result: Answer = {"changed": False, "rc": 0}
        name = arguments["name"]
        self.names = [str(item) for item in name] if isinstance(name, list) else str(name).split(",")

    def work(self) -> Work:
        yield 3.0
        try:
            if not self._bootstrap():
                return self.result
            self._packages()
        except _FailedError as error:
            return error.answer
        yield 2.0
        return self.result

    def _bootstrap(self) -> bool:
        """Chocolatey itself, where it is missing. False when the module ends there, in check mode."""
        node = self.node
        if node.drive.is_file(choco.EXE):
            return True
        asked = str(self.given.get("version") or "") if "chocolatey" in self.names else ""
        if choco.number(asked or "2")[0] >= 2 and dot_net(node) < (4, 8):
            raise _FailedError(
                failed(
                    "Chocolatey 2.0.0 requires .NET Framework 4.8 or higher to be installed. Please install .NET "
                    "Framework 4.8 or higher and try again, or specify a 1.x version of Chocolatey to install."
                )
            )
        url, proxy = self._script(), self.given.get("proxy_url")
        try:
            script = choco.fetch(node, url, proxy)
        except choco.ChocoError as error:
            said = f'Exception calling "DownloadString" with "1" argument(s): "{error}"'
            raise _FailedError(failed(f"Failed to download Chocolatey script from '{url}'; {said}", rc=0)) from error
        self.result["changed"] = True
        if self.check_mode:
            said = "Skipped check mode run on win_chocolatey as choco.exe cannot be found on the system"
            self.result |= {"skipped": True, "msg": said}
            return False
        if script != SCRIPT or not self.elevated:
            raise _FailedError(failed("Chocolatey bootstrap installation failed.", rc=1, stdout="", stderr="simulated"))
        source = self.environment.get("chocolateyDownloadUrl", "")
        if not source:
            version = asked or self.environment.get("chocolateyVersion", "")
            source = f"{url.rpartition('/')[0]}/package/chocolatey{f'/{version}' if version else ''}"
        try:
            package = choco.unpack("chocolatey", choco.fetch(node, source, proxy))
        except choco.ChocoError as error:
            raise _FailedError(
                failed("Chocolatey bootstrap installation failed.", rc=1, stdout="", stderr=str(error))
            ) from error
        node.drive.mkdir(choco.EXE.rpartition("\\")[0])
        node.drive.write(choco.EXE, build("choco", package.version))
        choco.put(node, package)
        node.registry.set(image.ENVIRONMENT, "ChocolateyInstall", "string", choco.ROOT)
        if not asked:
            self.result["warnings"] = [_MISSING]
        return True

    def _script(self) -> str:
        """Where the script that installs Chocolatey is fetched from."""
        source = str(self.given.get("source") or "")
        if self.given.get("bootstrap_script"):
            return str(self.given["bootstrap_script"])
        if not source:
            return "https://community.chocolatey.org/install.ps1"
        if source.endswith(".ps1"):
            return source
        scheme, _, rest = source.partition("://")
        host, _, path = rest.partition("/")
        return (
            f"{scheme}://{host}/{path.rstrip('/')}/install.ps1"
            if path.startswith("repository/")
            else f"{scheme}://{host}/install.ps1"
        )

    def _packages(self) -> None:
        have, wanted = choco.installed(self.node), str(self.given.get("version") or "")
        choco.run(self.node, ["list", "--limit-output", "--all-versions"])
        downgrade = self.given.get("state") == "downgrade"
        missing = [name for name in self.names if name not in have]
        for name in self.names:
            if not downgrade and wanted and name in have and have[name] != wanted:
                raise _FailedError(
                    failed(
                        f"Chocolatey package '{name}' is already installed with version(s) '{have[name]}' but was "
                        f"expecting '{wanted}'. Either change the expected version, set state=latest or state=upgrade, "
                        "set allow_multiple=yes, or set force=yes to continue"
                    )
                )
        if missing:
            done = self._choco("install", missing, "Error installing package(s)")
            self.result["changed"] = done.rc in _SUCCESS
        rest = [name for name in self.names if name in have]
        if downgrade and wanted and rest:
            done = self._choco("upgrade", rest, "Error updating package(s)")
            self.result["changed"] = self.result["changed"] or " upgraded 0/" not in done.stdout

    def _choco(self, command: str, names: list[str], complaint: str) -> choco.Done:
        words = [command, *names, "--fail-on-unfound", "--yes", "--no-progress"]
        words += ["--what-if"] if self.check_mode else []
        words.append("--limit-output")
        words += ["--allow-downgrade"] if self.given.get("state") == "downgrade" else []
        for option, key in (
            ("--proxy", "proxy_url"),
            ("--proxy-user", "proxy_username"),
            ("--proxy-password", "proxy_password"),
            ("--source", "source"),
        ):
            words += [option, str(self.given[key])] if self.given.get(key) else []
        words += ["--timeout", "2700"]
        words += ["--version", str(self.given["version"])] if self.given.get("version") else []
        words += [str(word) for word in self.given.get("choco_args") or []]
        done = choco.run(self.node, words)
        if done.rc not in _SUCCESS:
            hidden = [str(self.given[key]) for key in SECRET if self.given.get(key)]
            shown = " ".join("********" if word in hidden else word for word in (choco.EXE, *words))
            said = f"{complaint} '{', '.join(names)}'"
            raise _FailedError(failed(said, rc=done.rc, stdout=done.stdout, stderr="", command=shown))
        return done


def dot_net(node: SimulatedNode) -> tuple[int, ...]:
    """The .NET Framework's version: Windows Server 2019 comes with 4.7.2, later ones with 4.8.

    Source: Microsoft, ".NET Framework versions and dependencies".
    """
    shipped = "4.7.03190" if node.release.build < 20348 else "4.8.04161"
    return choco.number(node.registry.text(_NET, "Version") or shipped)
