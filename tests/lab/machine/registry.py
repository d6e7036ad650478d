"""The registry: keys without regard to case, values with their type."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field

Data = str | int | bytes | list[str]
TYPES = ("string", "expand_string", "multi_string", "dword", "qword", "binary")
_HIVES = {"HKEY_LOCAL_MACHINE": "HKLM", "HKEY_USERS": "HKU", "HKEY_CURRENT_USER": "HKCU", "HKEY_CLASSES_ROOT": "HKCR"}
MAX_NAME = 16383
"""Characters of a value's name (Windows' "Registry element size limits")."""
SERVICES = "HKLM\\SYSTEM\\CurrentControlSet\\Services"


@dataclass(frozen=True)
class Value:
    """type: one of TYPES; data: str, int (dword and qword, unsigned), bytes or a list of str. name as it was
    written.
    """

    name: str
    type: str
    data: Data


@dataclass(eq=False)
class Key:
    name: str
    values: dict[str, Value] = field(default_factory=dict)
    keys: dict[str, Key] = field(default_factory=dict)

    def data(self, name: str, default: Data | None = None) -> Data | None:
        found = self.values.get(name.lower())
        return found.data if found else default

    def text(self, name: str, default: str = "") -> str:
        found = self.data(name)
        return found if isinstance(found, str) else default

    def number(self, name: str, default: int = 0) -> int:
        found = self.data(name)
        return found if isinstance(found, int) else default

    def strings(self, name: str) -> list[str]:
        found = self.data(name)
        return list(found) if isinstance(found, list) else []


class Registry:
    """Paths are `HKLM\\...`; the default value of a key has the name ''."""

    def __init__(self) -> None:
        self.hives = {hive: Key(hive) for hive in ("HKLM", "HKU", "HKCU", "HKCR")}
        self.taken_back: set[str] = set()
        """Keys whose values do not stay, nor those below: tamper protection does so without an error."""

    @staticmethod
    @functools.lru_cache(maxsize=4096)
    def _parts(path: str) -> tuple[str, ...]:
        hive, *pieces = (piece for piece in path.split("\\") if piece)
        return _HIVES.get(hive.upper(), hive.upper()), *pieces

    def _find(self, path: str, create: bool = False) -> Key | None:
        pieces = self._parts(path)
        key = self.hives.get(pieces[0])
        if key is None:
            return None
        for piece in pieces[1:]:
            child = key.keys.get(piece.lower())
            if child is None:
                if not create:
                    return None
                child = key.keys[piece.lower()] = Key(piece)
            key = child
        return key

    def key(self, path: str) -> Key | None:
        return self._find(path)

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def create(self, path: str) -> None:
        self._find(path, create=True)

    def value(self, path: str, name: str) -> Value | None:
        key = self._find(path)
        return key.values.get(name.lower()) if key else None

    def get(self, path: str, name: str, default: Data | None = None) -> Data | None:
        key = self._find(path)
        return key.data(name, default) if key else default

    def text(self, path: str, name: str, default: str = "") -> str:
        key = self._find(path)
        return key.text(name, default) if key else default

    def number(self, path: str, name: str, default: int = 0) -> int:
        key = self._find(path)
        return key.number(name, default) if key else default

    def strings(self, path: str, name: str) -> list[str]:
        key = self._find(path)
        return key.strings(name) if key else []

    def set(self, path: str, name: str, kind: str, data: Data) -> None:
        """ValueError for a type that is none, data that does not fit it, or a name that is too long."""
        fits = {
            "string": isinstance(data, str),
            "expand_string": isinstance(data, str),
            "multi_string": isinstance(data, list),
            "dword": isinstance(data, int) and 0 <= data < 2**32,
            "qword": isinstance(data, int) and 0 <= data < 2**64,
            "binary": isinstance(data, bytes),
        }
        if not fits.get(kind, False):
            raise ValueError(f"{path}\\{name}: {data!r} is not a {kind}")
        if len(name) > MAX_NAME:
            raise ValueError(f"{path}: the name of a value has {len(name)} characters, at most {MAX_NAME} are taken")
        if any(path.lower().startswith(guarded.lower()) for guarded in self.taken_back):
            return
        key = self._find(path, create=True)
        assert key is not None
        old = key.values.get(name.lower())
        key.values[name.lower()] = Value(
            old.name if old else name, kind, list(data) if isinstance(data, list) else data
        )

    def delete_value(self, path: str, name: str) -> bool:
        key = self._find(path)
        return key is not None and key.values.pop(name.lower(), None) is not None

    def delete_key(self, path: str) -> bool:
        """The key with everything below it; whether it was there."""
        pieces = self._parts(path)
        parent = self._find("\\".join(pieces[:-1]))
        return parent is not None and parent.keys.pop(pieces[-1].lower(), None) is not None

    def values(self, path: str) -> list[Value]:
        key = self._find(path)
        return [key.values[name] for name in sorted(key.values)] if key else []

    def keys(self, path: str) -> list[str]:
        key = self._find(path)
        return sorted((child.name for child in key.keys.values()), key=str.lower) if key else []

    def walk(self, path: str | None = None) -> Iterator[tuple[str, Key]]:
        """Every key below `path` (default: all hives) with its path, sorted."""
        if path is None:
            for hive in sorted(self.hives):
                yield from self._descend(hive, self.hives[hive])
            return
        key = self._find(path)
        if key is not None:
            yield from self._descend(path, key)

    def _descend(self, path: str, key: Key) -> Iterator[tuple[str, Key]]:
        yield path, key
        for name in sorted(key.keys):
            yield from self._descend(f"{path}\\{key.keys[name].name}", key.keys[name])
