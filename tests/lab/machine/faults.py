"""What goes wrong on a node, and when. Cuts fire once; the environment's faults last as long as they say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

CutKind = Literal["session", "runner", "power"]
Kind = CutKind | Literal["disk_full"]
When = Literal["before", "in", "after"]
Phase = Literal["submit", "ops", "gate", "undo"]
ServiceFaultKind = Literal["crash_at_start", "crash_loop", "never_answers", "slow_start", "slow_stop", "no_pipe"]


@dataclass
class Fault:
    """A cut at one moment of a batch.

    kind: `session` (the remote session with its process tree), `runner` (the process that works on the batch alone) or
    `power` (the machine; `boot_after_s` seconds later it boots, None: only when told). `disk_full` is no cut: somebody
    else fills the disk at this moment.
    op: the index in the phase: of the op in `ops` and `undo` (whose undo list), of the gate op in `gate`, of the step
    in
    `submit` (0 the state folder is there, 1 batch.json is written, 2 open.json is written, 3 the task is started).
    when: `before` its intent is written; `in`: the most awkward moment inside; `after` its effect, the done mark not
    yet
    written. label: which awkward moment if an op has several (`Faults.trace` lists them); None: the first.
    silent: from this moment on nothing goes in or out of the machine, and nobody is told (`Faults.silent`).
    """

    kind: Kind
    op: int
    when: When
    phase: Phase = "ops"
    label: str | None = None
    boot_after_s: float | None = None
    silent: bool = False
    fired: bool = False


@dataclass
class ServiceFault:
    """A service that behaves badly.

    `crash_at_start`: its process ends before it has answered the SCM; `crash_loop`: runs, and exits with 1 after
    `seconds`;
    `never_answers`: 1053 after 30 s; `slow_start`, `slow_stop`: pending for `seconds`; `no_pipe`: runs, but its pipe
    never
    comes. times: how often, None for always.
    """

    kind: ServiceFaultKind
    seconds: float = 1.0
    times: int | None = None


@dataclass(frozen=True)
class Moment:
    """A moment of a batch at which a cut could have been made."""

    phase: Phase
    op: int
    when: When
    label: str | None


@dataclass(frozen=True)
class ModuleError:
    """An exception in a module. `caught`: by the module itself, which tells it by FailJson, not by Ansible's wrapper.
    `when`: `before` the module has done anything, or `after` its work, while it reads what it answers with."""

    module: str
    text: str
    when: Literal["before", "after"] = "before"
    caught: bool = True


@dataclass
class Faults:
    """All faults of a node. Set the fields, or use the methods; what has not been set does not happen."""

    armed: list[Fault] = field(default_factory=list)
    trace: list[Moment] = field(default_factory=list)
    services: dict[str, ServiceFault] = field(default_factory=dict)
    disk_full_after: int | None = None
    """Bytes that can still be written before error 112."""
    locked: dict[str, float] = field(default_factory=dict)
    """Lower-case path -> clock time until which a scanner holds it."""
    denied: dict[str, float] = field(default_factory=dict)
    """Lower-case path -> clock time until which deleting it is denied (5): somebody else's ACL, or a delete that waits
    for the last handle."""
    pipe_delay_s: float | None = None
    """Seconds between containerd's RUNNING and its pipe; None: some, by the node's seed."""
    antivirus_s: float = 0.0
    """Seconds for which a scanner holds every freshly written .exe."""
    antivirus_deletes: set[str] = field(default_factory=set)
    """Lower-case file names that the scanner deletes as soon as they have been written."""
    runner_refused: str = ""
    """What stops runner.ps1 whenever the scheduled task starts it (antivirus, a policy): PowerShell's own words."""
    silent: bool = False
    """Every packet to and from the machine is lost, without FIN, RST or an ICMP message, until this is false again or
    the machine has booted."""
    lost_static_address: bool = False
    """A NIC's external vSwitch loses the static address: `vEthernet (..)` is left with DHCP."""
    servicing_s: float = 20.0
    """Seconds that the Windows Modules Installer takes to turn a feature on, whatever becomes of dism.exe."""
    configures_s: float = 0.0
    """Seconds that Windows configures a new feature after the restart, answering, before it restarts once more."""
    blip_s: float | None = None
    """Seconds without an address when a virtual switch comes or goes; None: some, by the node's seed."""
    management_ip_s: float | None = None
    """Seconds until a new HNS network has its ManagementIP; None: some, by the node's seed."""
    module_errors: list[ModuleError] = field(default_factory=list)
    """Modules that throw; each error happens once, the first that fits."""
    hns_errors: dict[str, int] = field(default_factory=dict)
    """`POST /networks/` and the like -> the HRESULT that HNS answers instead (machine/hns_errors.py has some)."""

    def arm(self, *faults: Fault) -> None:
        self.armed.extend(faults)

    def service(self, name: str, fault: ServiceFault | None) -> None:
        if fault is None:
            self.services.pop(name.lower(), None)
        else:
            self.services[name.lower()] = fault

    def take_service(self, name: str, *kinds: ServiceFaultKind) -> ServiceFault | None:
        """The service's fault if it is one of `kinds`, used up once."""
        fault = self.services.get(name.lower())
        if fault is None or fault.kind not in kinds or fault.times == 0:
            return None
        if fault.times is not None:
            fault.times -= 1
        return fault

    def take_module(self, module: str, when: Literal["before", "after"]) -> ModuleError | None:
        """The module's next error at this moment; it is then used up."""
        for error in self.module_errors:
            if (error.module, error.when) == (module, when):
                self.module_errors.remove(error)
                return error
        return None

    def lock(self, path: str, until: float) -> None:
        self.locked[path.lower()] = until

    def due(self, phase: Phase, op: int, when: When, label: str | None = None) -> Fault | None:
        """The cut that is to be made at this moment, if any; it is then used up."""
        self.trace.append(Moment(phase, op, when, label))
        for fault in self.armed:
            if fault.fired or (fault.phase, fault.op, fault.when) != (phase, op, when):
                continue
            if fault.label is not None and fault.label != label:
                continue
            fault.fired = True
            return fault
        return None

    def clear(self) -> None:
        self.armed.clear()
        self.trace.clear()
        self.services.clear()
        self.locked.clear()
        self.denied.clear()
        self.antivirus_deletes.clear()
        self.disk_full_after = None
        self.antivirus_s = 0.0
        self.pipe_delay_s = None
        self.silent = False
        self.lost_static_address = False
        self.runner_refused = ""
        self.servicing_s = 20.0
        self.blip_s = self.management_ip_s = None
        self.hns_errors.clear()
        self.module_errors.clear()
