"""The registry of a machine made of Wine.

Services are Wine's: what its registry says is what one reads here, and each change goes there. Whatever else the lab's
image of a Windows Server has (its release, its own services, the machine's environment) is the lab's; changes of it are
made in Wine's registry too.
"""

from __future__ import annotations

import time

from tests.lab.machine.errors import WinError
from tests.lab.machine.registry import SERVICES, Data, Key, Registry, Value
from tests.windows.machine.witness import Witness

FRESH_S = 0.3
_HIVE = "HKLM\\"


class WineRegistry(Registry):
    """The lab's until `use()`, from then on with Wine's services."""

    def __init__(self) -> None:
        super().__init__()
        self._witness: Witness | None = None
        self._simulated: frozenset[str] = frozenset()
        self._read_at = 0.0

    def use(self, witness: Witness) -> None:
        """What there is of services now stays the lab's."""
        self._simulated = frozenset(name.lower() for name in self.keys(SERVICES))
        self._witness = witness

    def is_wines(self, service: str) -> bool:
        return self._witness is not None and service.lower() not in self._simulated

    def forget(self) -> None:
        """Somebody else may have written: the next look reads anew."""
        self._read_at = 0.0

    def _find(self, path: str, create: bool = False) -> Key | None:
        if self._witness is not None and path.upper().startswith(SERVICES.upper()):
            self._refresh(self._witness)
        return super()._find(path, create)

    def _refresh(self, witness: Witness) -> None:
        if time.monotonic() - self._read_at < FRESH_S:
            return
        self._read_at = time.monotonic()
        root = super()._find(SERVICES, create=True)
        assert root is not None
        root.keys = {name: key for name, key in root.keys.items() if name in self._simulated}
        for found in witness.ask("walk", path=SERVICES.removeprefix(_HIVE)):
            name, _, rest = found["path"].partition("\\")
            if not name or name.lower() in self._simulated:
                continue
            key = super()._find(f"{SERVICES}\\{name}\\{rest}".rstrip("\\"), create=True)
            assert key is not None
            key.values = {
                item["name"].lower(): Value(item["name"], item["type"], _data(item["type"], item["data"]))
                for item in found["values"]
            }

    # -- writing -------------------------------------------------------------------------------------------------

    def create(self, path: str) -> None:
        super().create(path)
        self._ask("set", path, name="", type="")

    def set(self, path: str, name: str, kind: str, data: Data) -> None:
        super().set(path, name, kind, data)
        self._ask("set", path, name=name, type=kind, data=data.hex() if isinstance(data, bytes) else data)

    def delete_value(self, path: str, name: str) -> bool:
        there = super().delete_value(path, name)
        if there:
            self._ask("delete_value", path, name=name)
        return there

    def delete_key(self, path: str) -> bool:
        there = super().delete_key(path)
        if there:
            self._ask("delete_key", path)
        return there

    def _ask(self, op: str, path: str, **arguments: object) -> None:
        """The same in Wine's registry; what the lab's image alone has cannot be deleted there."""
        pieces = self._parts(path)
        if self._witness is None or pieces[0] != "HKLM":
            return
        if len(pieces) > 4 and "\\".join(pieces[:4]).upper() == SERVICES.upper() and not self.is_wines(pieces[4]):
            return
        try:
            self._witness.ask(op, path="\\".join(pieces[1:]), **arguments)
        except WinError as error:
            if op == "set" or error.code != 2:
                raise


def _data(kind: str, data: object) -> Data:
    if kind in {"string", "expand_string"}:
        return str(data)
    if kind in {"dword", "qword"}:
        return int(str(data))
    if kind == "multi_string":
        return [str(item) for item in data] if isinstance(data, list) else []
    return bytes.fromhex(str(data or ""))
