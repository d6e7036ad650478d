"""What arrived at a node, counted by the lab itself."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Counters:
    """`modules`: runs by name; `probes`: queries answered by kind; `writes`: ops executed by kind (undo ops
    included); `downloads`: bytes by URL or image.
    """

    modules: dict[str, int] = field(default_factory=dict)
    probes: dict[str, int] = field(default_factory=dict)
    writes: dict[str, int] = field(default_factory=dict)
    batches: int = 0
    programs: dict[str, int] = field(default_factory=dict)
    downloads: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def add(table: dict[str, int], key: str, amount: int = 1) -> None:
        table[key] = table.get(key, 0) + amount

    @property
    def write_ops(self) -> int:
        """Ops that changed, or were meant to change, the node."""
        return sum(self.writes.values())

    def reset(self) -> None:
        for table in (self.modules, self.probes, self.writes, self.programs, self.downloads):
            table.clear()
        self.batches = 0
