"""A node as a chapter of the story sees it: on Wine (wine_side.py), or in the lab (lab_side.py).

What the two have in common is here; what a chapter needs of a node, and both have in ways of their own, is abstract.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from tests.integration.lab import Run
from tests.windows.machine.bench import Archive


class Side(ABC):
    """`work`: a folder for what a chapter writes. `adapter`: the one that the node is reached by."""

    name: ClassVar[str]
    work: Path
    adapter: str

    @abstractmethod
    def ansible(self, command: str, *arguments: object) -> Run:
        """`ansible` or `ansible-playbook`, with an inventory of the node `win1`."""

    @abstractmethod
    def file(self, name: str, text: str) -> Path:
        """One of the controller's, for Ansible."""

    @abstractmethod
    def publish(self, name: str, make: Callable[[], bytes]) -> Archive:
        """A file that the node can fetch, made the first time that it is asked for."""

    @abstractmethod
    def program(self, name: str, version: str) -> bytes:
        """A Windows program that runs there."""

    @abstractmethod
    def other_build(self, name: str, version: str, text: bytes) -> bytes:
        """The same with this text in it somewhere."""

    @abstractmethod
    def ends_at_once(self) -> bytes:
        """A program that ends as soon as it is started."""

    @abstractmethod
    def nssm(self) -> bytes:
        """nssm's archive."""

    @abstractmethod
    def calls(self) -> int:
        """Remote calls so far."""

    @abstractmethod
    def state(self, service: str) -> str:
        """Of a service, as the service manager has it."""

    @abstractmethod
    def values(self, path: str) -> dict[str, Any]:
        """A key of the registry, below HKLM."""

    @abstractmethod
    def write(self, path: str, text: str) -> None:
        """A file of the node."""

    @abstractmethod
    def has(self, path: str) -> bool:
        """Whether there is a file or folder of the node."""

    @abstractmethod
    def networks(self) -> list[str]:
        """HNS's, by name."""

    @abstractmethod
    def occupy(self) -> None:
        """What flanneld and pods leave in HNS (occupied.py)."""

    @abstractmethod
    def adapters(self) -> list[dict[str, Any]]:
        """What they are set to."""

    @abstractmethod
    def lose_address(self) -> None:
        """The next virtual switch does not bring the node's address back: on Wine none does, whose adapters keep the
        names that this computer's have."""

    @abstractmethod
    def cut_in_batch(self, run: Callable[[], Run]) -> tuple[Run, bool]:
        """A run of Ansible whose session is cut in the middle of a batch, and whether that was so."""

    @abstractmethod
    def begin(self, chapter: str) -> None:
        """What comes now belongs to this chapter."""

    def play(self, text: str, *arguments: object, **extra: Any) -> Run:
        return self.playbook(self.file("play.yml", text), *arguments, **extra)

    def playbook(self, book: Path, *arguments: object, **extra: Any) -> Run:
        variables = self.file("extra.json", json.dumps(extra))
        return self.ansible("ansible-playbook", book, "-e", f"@{variables}", *arguments)
