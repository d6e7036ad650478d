"""The service manager of a machine made of Wine: Windows' own services are the lab's, all others Wine's."""

from __future__ import annotations

from tests.lab.machine.errors import WinError
from tests.lab.machine.processes import Steps
from tests.lab.machine.registry import Data
from tests.lab.machine.services import STATE_NUMBERS, Runtime, ServiceManager
from tests.windows.machine.processes import WineProcesses
from tests.windows.machine.registry import WineRegistry
from tests.windows.machine.witness import Witness

STATES = {number: state for state, number in STATE_NUMBERS.items()}
POLL_S = 0.05


class WineServices(ServiceManager):
    """What is asked of Wine's service manager fails with its own errors."""

    witness: Witness | None = None
    _registry: WineRegistry
    _processes: WineProcesses

    def _wines(self, name: str) -> Witness | None:
        return self.witness if self._registry.is_wines(name) else None

    def runtime(self, name: str) -> Runtime:
        witness = self._wines(name)
        if witness is None:
            return super().runtime(name)
        self.config(name)
        found = next((one for one in witness.ask("services") if one["name"].lower() == name.lower()), None)
        if found is None:
            raise WinError(1060, name)
        process = self._processes.wines(found["pid"]) if found["pid"] else None
        return Runtime(STATES[found["state"]], found["exit"], found["specific"], process=process)

    def state(self, name: str) -> str:
        """The registry and the service manager are two: between them a service may be gone."""
        try:
            return super().state(name)
        except WinError as error:
            if error.code != 1060:
                raise
            return "absent"

    def create(
        self,
        name: str,
        image_path: str,
        *,
        start: int = 3,
        kind: int = 0x10,
        display_name: str | None = None,
        account: str = "LocalSystem",
        depends_on: list[str] | None = None,
        delayed: bool = False,
    ) -> None:
        witness = self._wines(name)
        if witness is None:
            raise WinError(1073, name)
        witness.ask("create", name=name, binary=image_path, start=start, display=display_name or name)
        self._registry.forget()
        self._start_with(name, depends_on, delayed)

    def change(self, name: str, value: str, kind: str, data: Data) -> None:
        witness = self._wines(name)
        names = {"ImagePath": "binary", "Start": "start", "DisplayName": "display"}
        if witness is None or value not in names:
            super().change(name, value, kind, data)
            return
        self.config(name)
        witness.ask("change", name=name, **{names[value]: data})
        self._registry.forget()

    def delete(self, name: str) -> None:
        witness = self._wines(name)
        if witness is None:
            super().delete(name)
            return
        witness.ask("delete", name=name)
        self._registry.forget()

    def start(self, name: str) -> Steps:
        witness = self._wines(name)
        if witness is None:
            yield from super().start(name)
            return
        self.config(name)
        answer = witness.send("start", name=name)
        while not answer.done():
            yield POLL_S
        answer.result()

    def stop(self, name: str) -> None:
        witness = self._wines(name)
        if witness is None:
            super().stop(name)
            return
        if self.exists(name):
            self._refuse_while_needed(name)
        witness.ask("stop", name=name)
