"""What is on a freshly installed Windows Server: folders, programs, registry, services, the Containers feature."""

from __future__ import annotations

import ipaddress
import random
import re
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.lab.machine import remote_desktop
from tests.lab.machine.adapters import Address, ByHand, Family, Route, Settings
from tests.lab.machine.builds import build
from tests.lab.machine.drive import SYSTEM, Drive
from tests.lab.machine.firewall import POLICY, PROFILES, RULES
from tests.lab.machine.registry import Registry
from tests.lab.machine.security import sid_of
from tests.lab.machine.service_config import key_of

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

SYSTEM32 = "C:\\Windows\\System32"
TRUSTED_INSTALLER = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
ENVIRONMENT = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Environment"
VERSION_KEY = "HKLM\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion"
BIOS_KEY = "HKLM\\HARDWARE\\DESCRIPTION\\System\\BIOS"
GUEST_KEY = "HKLM\\SOFTWARE\\Microsoft\\Virtual Machine\\Guest\\Parameters"
FEATURES_KEY = "HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Component Based Servicing"
FIRST_PRIVATE_SSH = 26100
SVCHOST = "%SystemRoot%\\System32\\svchost.exe -k netsvcs -p"
SESSION_MANAGER = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager"
CRYPTOGRAPHY = "HKLM\\SOFTWARE\\Microsoft\\Cryptography"
COMPUTER_NAME = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\ComputerName"
TCPIP = "HKLM\\SYSTEM\\CurrentControlSet\\Services\\Tcpip\\Parameters"
PROGRAMS_IN_SYSTEM32 = (
    "sc",
    "shutdown",
    "ipconfig",
    "netsh",
    "icacls",
    "dism",
    "taskkill",
    "tasklist",
    "schtasks",
    "wevtutil",
    "reg",
    "tar",
    "curl",
    "cmd",
    "xcopy",
    "svchost",
    "services",
    "lsass",
)


@dataclass(frozen=True)
class Nic:
    """The machine's one NIC. gateway None: the first address of its network. dhcp: it has its address as a lease, else
    as a static one (and there is no DHCP server that knows it). by_hand None: what a machine in a cloud or a domain
    has, the route to the metadata server above all.
    """

    name: str = "Ethernet"
    address: str = "10.7.0.25"
    prefix: int = 24
    gateway: str | None = None
    dns: tuple[str, ...] = ("10.7.0.2",)
    dhcp: bool = False
    by_hand: ByHand | None = None

    @property
    def neighbour(self) -> str:
        """An address of its own network that is not its own: where the controller is."""
        network = ipaddress.IPv4Interface(f"{self.address}/{self.prefix}").network
        return self.gateway or str(network.network_address + 1)


@dataclass(frozen=True)
class BuiltIn:
    name: str
    display: str
    start: int = 2
    image: str = SVCHOST
    depends: tuple[str, ...] = ()
    delayed: bool = False


# Names, start types and dependencies of a Windows Server 2022 (those the lab needs). Source: field knowledge,
# unverified.
SERVICES = (
    BuiltIn("RpcSs", "Remote Procedure Call (RPC)"),
    BuiltIn("EventLog", "Windows Event Log"),
    BuiltIn("Schedule", "Task Scheduler", depends=("RpcSs",)),
    BuiltIn("nsi", "Network Store Interface Service", depends=("RpcSs",)),
    BuiltIn("Dhcp", "DHCP Client", depends=("nsi",)),
    BuiltIn("Dnscache", "DNS Client", depends=("nsi",)),
    BuiltIn("BFE", "Base Filtering Engine", depends=("RpcSs",)),
    BuiltIn("mpssvc", "Windows Defender Firewall", depends=("BFE",)),
    BuiltIn("LanmanServer", "Server"),
    BuiltIn("LanmanWorkstation", "Workstation", depends=("nsi",)),
    BuiltIn("W32Time", "Windows Time"),
    BuiltIn("WinRM", "Windows Remote Management (WS-Management)", depends=("RpcSs",), delayed=True),
    BuiltIn("Winmgmt", "Windows Management Instrumentation", depends=("RpcSs",)),
    BuiltIn("TermService", "Remote Desktop Services", 3, depends=("RpcSs",)),
    BuiltIn("TrustedInstaller", "Windows Modules Installer", 3),
    BuiltIn("wuauserv", "Windows Update", 3, depends=("RpcSs",)),
    BuiltIn("sshd", "OpenSSH SSH Server", 2, "C:\\Windows\\System32\\OpenSSH\\sshd.exe"),
)
CONTAINER_SERVICES = (
    BuiltIn("vmcompute", "Hyper-V Host Compute Service", 3, "%systemroot%\\system32\\vmcompute.exe", ("RpcSs",)),
    # Its start type is manual, and whoever calls it starts it (RPC trigger): here it starts with the machine.
    BuiltIn("hns", "Host Network Service", 2, "%SystemRoot%\\System32\\svchost.exe -k NetSvcs", ("RpcSs", "nsi")),
)

_SYSTEM_ACL = f"O:{TRUSTED_INSTALLER}D:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)"
FOLDERS: tuple[tuple[str, str | None], ...] = (
    ("C:\\Windows", _SYSTEM_ACL),
    (SYSTEM32, None),
    (f"{SYSTEM32}\\WindowsPowerShell\\v1.0", None),
    (f"{SYSTEM32}\\OpenSSH", None),
    (f"{SYSTEM32}\\drivers\\etc", None),
    ("C:\\Windows\\Temp", "O:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;CI;0x100026;;;BU)"),
    ("C:\\Program Files", _SYSTEM_ACL),
    ("C:\\Program Files\\Common Files", None),
    ("C:\\Program Files (x86)", _SYSTEM_ACL),
    ("C:\\ProgramData", "O:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)(A;CI;0x116;;;BU)"),
    ("C:\\ProgramData\\ssh", "O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;AU)"),
    ("C:\\Users", "O:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)"),
    ("C:\\Users\\Administrator\\AppData\\Local\\Temp", None),
    ("C:\\Users\\Public", None),
)
_ROOT_ACL = "O:SYD:AI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)(A;CI;LC;;;BU)"


def install(node: SimulatedNode, containers: bool) -> None:
    """Fills an empty machine; it is not booted yet."""
    drive = node.drive
    drive.set_root_sddl("C:", _ROOT_ACL)
    for path, sddl in FOLDERS:
        drive.mkdir(path, SYSTEM)
        if sddl:
            drive.set_sddl(path, sddl, restore_privilege=True)
    profile = f"O:{user_sid(node, 'Administrator')}D:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
    drive.set_sddl("C:\\Users\\Administrator", profile, restore_privilege=True)
    version = f"10.0.{node.release.build}.{node.release.revision}"
    for name in PROGRAMS_IN_SYSTEM32:
        _program(node, f"{SYSTEM32}\\{name}.exe", name, version)
    _program(node, f"{SYSTEM32}\\WindowsPowerShell\\v1.0\\powershell.exe", "powershell", version)
    _program(node, f"{SYSTEM32}\\OpenSSH\\sshd.exe", "sshd", "9.5.0.1")
    drive.write(f"{SYSTEM32}\\drivers\\etc\\hosts", b"# simulated hosts file\r\n", owner=SYSTEM)
    _registry(node)
    _network(node)
    for service in SERVICES:
        _service(node.registry, service)
    if containers:
        _containers(node)


def _program(node: SimulatedNode, path: str, name: str, version: str) -> None:
    node.drive.write(path, build(name, version, node.release.architecture, version), owner=TRUSTED_INSTALLER)


def _service(registry: Registry, service: BuiltIn) -> None:
    key = key_of(service.name)
    registry.set(key, "Type", "dword", 0x10 if service.name == "sshd" else 0x20)
    registry.set(key, "Start", "dword", service.start)
    registry.set(key, "ErrorControl", "dword", 1)
    registry.set(key, "ImagePath", "expand_string", service.image)
    registry.set(key, "DisplayName", "string", service.display)
    registry.set(key, "ObjectName", "string", "LocalSystem")
    if service.depends:
        registry.set(key, "DependOnService", "multi_string", list(service.depends))
    if service.delayed:
        registry.set(key, "DelayedAutostart", "dword", 1)


HOST_KEYS = tuple(f"C:\\ProgramData\\ssh\\ssh_host_{kind}_key" for kind in ("rsa", "ecdsa", "ed25519"))


def host_keys(node: SimulatedNode) -> None:
    """What sshd does when it starts: a key of each kind that is not there yet.

    Source: PowerShell/openssh-portable contrib/win32/win32compat/wmain_sshd.c, generate_host_keys (ssh-keygen -A).
    """
    for path in HOST_KEYS:
        if not node.drive.is_file(path):
            node.drive.write(
                path, f"{path} of {node.registry.text(CRYPTOGRAPHY, 'MachineGuid')}\n".encode(), owner=SYSTEM
            )
            node.drive.write(f"{path}.pub", b"public\n", owner=SYSTEM)


def _registry(node: SimulatedNode) -> None:
    registry, release = node.registry, node.release
    new_machine_id(node)
    for name, kind, data in (
        ("ProductName", "string", release.product),
        ("CurrentBuild", "string", str(release.build)),
        ("CurrentBuildNumber", "string", str(release.build)),
        ("DisplayVersion", "string", release.display),
        ("InstallationType", "string", release.installation_type),
    ):
        registry.set(VERSION_KEY, name, kind, data)
    registry.set(VERSION_KEY, "UBR", "dword", release.revision)
    registry.set(BIOS_KEY, "SystemManufacturer", "string", "Microsoft Corporation")
    registry.set(BIOS_KEY, "SystemProductName", "string", "Virtual Machine")
    registry.set(GUEST_KEY, "VirtualMachineName", "string", node.name)
    rename_computer(registry, node.name[:15])
    apply_computer_name(registry)
    # Source: learn.microsoft.com, SERVICE_PRESHUTDOWN_INFO; the names are unverified.
    control = SESSION_MANAGER.rpartition("\\")[0]
    registry.set(control, "PreshutdownOrder", "multi_string", ["UsoSvc", "gpsvc", "trustedinstaller"])
    registry.set(f"{SESSION_MANAGER}\\Memory Management", "PagingFiles", "multi_string", ["?:\\pagefile.sys"])
    path = "%SystemRoot%\\system32;%SystemRoot%;%SystemRoot%\\System32\\Wbem"
    path += ";%SYSTEMROOT%\\System32\\WindowsPowerShell\\v1.0\\"
    registry.set(ENVIRONMENT, "Path", "expand_string", path + ";%SYSTEMROOT%\\System32\\OpenSSH\\")
    registry.set(ENVIRONMENT, "TEMP", "expand_string", "%SystemRoot%\\TEMP")
    registry.set(ENVIRONMENT, "PROCESSOR_ARCHITECTURE", "string", release.architecture.upper())
    registry.set(ENVIRONMENT, "NUMBER_OF_PROCESSORS", "string", "2")
    # From Server 2025 on OpenSSH's rule is for private networks alone (learn.microsoft.com, Get started with OpenSSH).
    registry.create("HKLM\\SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application")
    registry.create("HKLM\\SOFTWARE\\Policies\\Microsoft\\Windows Defender\\Policy Manager")
    scope = "Profile=Private|" if release.build >= FIRST_PRIVATE_SSH else ""
    for profile in PROFILES.values():
        registry.set(f"{POLICY}\\{profile}", "EnableFirewall", "dword", 1)
    registry.set(
        RULES,
        "OpenSSH-Server-In-TCP",
        "string",
        f"v2.31|Action=Allow|Active=TRUE|Dir=In|Protocol=6|{scope}LPort=22|"
        "App=%SystemRoot%\\system32\\OpenSSH\\sshd.exe|Name=OpenSSH SSH Server (sshd)|",
    )
    remote_desktop.install(registry)


def new_machine_id(node: SimulatedNode) -> None:
    guid = str(uuid.UUID(int=node.random.getrandbits(128), version=4))
    node.registry.set(CRYPTOGRAPHY, "MachineGuid", "string", guid)


def _network(node: SimulatedNode) -> None:
    nic = node.nic
    network = ipaddress.IPv4Interface(f"{nic.address}/{nic.prefix}").network
    gateway = nic.gateway or str(network.network_address + 1)
    own = random.Random(f"nic of {node.name}").randbytes(3)
    mac = "-".join(f"{part:02X}" for part in (0x00, 0x15, 0x5D, *own))
    found = Settings(nic.dhcp, (Address(nic.address, nic.prefix),), (gateway,), nic.dns)
    if nic.dhcp:
        node.adapters.leases[mac] = found
    by_hand = nic.by_hand
    if by_hand is None:
        by_hand = ByHand(
            routes=(Route("169.254.169.254/32", gateway),),
            ipv6=(Address("fd00:7::25", 64),),
            six=Family(dns=("fd00:7::2",)),
            metric=15,
            suffix="corp.example",
            register_suffix=True,
        )
    settings = replace(Settings(dhcp=True) if nic.dhcp else found, by_hand=by_hand)
    node.adapters.add(nic.name, mac, settings, description="Microsoft Hyper-V Network Adapter", physical=True)


def rename_computer(registry: Registry, name: str) -> None:
    """In force after the next boot."""
    registry.set(f"{COMPUTER_NAME}\\ComputerName", "ComputerName", "string", name.upper()[:15])
    registry.set(TCPIP, "NV Hostname", "string", name)


def apply_computer_name(registry: Registry) -> None:
    """At boot: the name that was asked for is the active one."""
    name = registry.text(f"{COMPUTER_NAME}\\ComputerName", "ComputerName")
    registry.set(f"{COMPUTER_NAME}\\ActiveComputerName", "ComputerName", "string", name)
    registry.set(TCPIP, "Hostname", "string", registry.text(TCPIP, "NV Hostname"))


def computer_name(registry: Registry) -> str:
    """The active one."""
    return registry.text(f"{COMPUTER_NAME}\\ActiveComputerName", "ComputerName")


def _containers(node: SimulatedNode) -> None:
    version = f"10.0.{node.release.build}.{node.release.revision}"
    _program(node, f"{SYSTEM32}\\vmcompute.exe", "svchost", version)
    _program(node, f"{SYSTEM32}\\hnsdiag.exe", "hnsdiag", version)
    _program(node, f"{SYSTEM32}\\hcsdiag.exe", "hcsdiag", version)
    for service in CONTAINER_SERVICES:
        _service(node.registry, service)
    node.registry.set(f"{FEATURES_KEY}\\Features", "Containers", "dword", 1)


LOGON_S = 2.0


def enable_containers(node: SimulatedNode) -> bool:
    """What dism does: pending until the next boot. False when the feature is on already."""
    if node.registry.number(f"{FEATURES_KEY}\\Features", "Containers"):
        return False
    node.registry.create(f"{FEATURES_KEY}\\RebootPending")
    return True


LOGON = "HKLM\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Winlogon\\AutoLogonChecked"


def logon_screen(node: SimulatedNode) -> None:
    """The volatile key that the logon screen makes, seconds after the boot, and when features have been configured."""
    node.registry.delete_key(LOGON)
    node.clock.call_later(node.faults.configures_s + LOGON_S, lambda: node.registry.create(LOGON))


def apply_pending_features(node: SimulatedNode) -> bool:
    """At boot: the feature that was asked for is there. Whether there was one."""
    if not node.registry.delete_key(f"{FEATURES_KEY}\\RebootPending"):
        return False
    _containers(node)
    return True


def reboot_pending(registry: Registry) -> bool:
    return (
        registry.text(f"{COMPUTER_NAME}\\ComputerName", "ComputerName") != computer_name(registry)
        or registry.exists(f"{FEATURES_KEY}\\RebootPending")
        or registry.value(SESSION_MANAGER, "PendingFileRenameOperations") is not None
        or registry.exists(
            "HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\WindowsUpdate\\Auto Update\\RebootRequired"
        )
    )


def machine_environment(registry: Registry) -> dict[str, str]:
    """The environment that services and tasks get: the machine's, as it is now."""
    fixed = {"SystemRoot": "C:\\Windows", "SystemDrive": "C:", "ProgramFiles": "C:\\Program Files"}
    fixed |= {"ProgramData": "C:\\ProgramData", "windir": "C:\\Windows"}
    result = dict(fixed)
    for value in registry.values(ENVIRONMENT):
        if isinstance(value.data, str):
            result[value.name] = expand(value.data, fixed)
    return result


def on_path(drive: Drive, environment: dict[str, str], name: str) -> list[str]:
    """The files of this name in the folders of an environment's Path, in their order."""
    given = {key.lower(): value for key, value in environment.items()}.get("path", "")
    folders = [expand(folder.strip().strip('"'), environment).rstrip("\\") for folder in given.split(";") if folder]
    found = [f"{folder}\\{name}" for folder in folders if folder[1:2] == ":"]
    return [path for path in dict.fromkeys(found) if drive.is_file(path)]


def expand(text: str, environment: dict[str, str]) -> str:
    """`%NAME%` -> its value; a name that is not there stays as it is."""
    known = {name.lower(): value for name, value in environment.items()}
    return re.sub(r"%([^%]+)%", lambda found: known.get(found[1].lower(), found[0]), text)


def user_sid(node: SimulatedNode, user: str) -> str:
    """Administrator ends in 500; other users get a number that follows from their name."""
    if user.upper() in {"SYSTEM", "NT AUTHORITY\\SYSTEM"} or user.startswith("S-1-"):
        return sid_of("SY") if not user.startswith("S-1-") else user
    name = user.rpartition("\\")[2].lower()
    domain = uuid.uuid5(uuid.NAMESPACE_DNS, node.name).int
    parts = "-".join(str((domain >> shift) & 0xFFFFFFFF) for shift in (0, 32, 64))
    number = 500 if name == "administrator" else 1000 + uuid.uuid5(uuid.NAMESPACE_DNS, name).int % 8000
    return f"S-1-5-21-{parts}-{number}"
