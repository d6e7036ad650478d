"""Named pipes: they are there as long as the process that made them."""

from __future__ import annotations

PREFIX = "\\\\.\\pipe\\"


def pipe_name(address: str) -> str:
    r"""`\\.\pipe\x`, `//./pipe/x` and `npipe:////./pipe/x` are the pipe `x`."""
    text = address.removeprefix("npipe://").replace("/", "\\")
    return text[len(PREFIX) :] if text.lower().startswith(PREFIX) else text


class Pipes:
    def __init__(self) -> None:
        self._owners: dict[str, tuple[str, int]] = {}

    def create(self, address: str, pid: int) -> None:
        name = pipe_name(address)
        self._owners[name.lower()] = (name, pid)

    def exists(self, address: str) -> bool:
        return pipe_name(address).lower() in self._owners

    def owner(self, address: str) -> int | None:
        found = self._owners.get(pipe_name(address).lower())
        return found[1] if found else None

    def names(self) -> list[str]:
        return sorted(name for name, _ in self._owners.values())

    def close_of(self, pid: int) -> None:
        self._owners = {key: value for key, value in self._owners.items() if value[1] != pid}

    def clear(self) -> None:
        self._owners.clear()
