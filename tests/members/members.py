"""Types and members of .NET as one table: `members.tsv` here, and the file that it is made from.

A line has an assembly, a type, a kind, `static` or `instance` (of a type: class, struct, enum, interface), a signature
with the names of parameters, and in the committed table the PowerShells whose .NET has it: `5.1`, `7` or both. A type's
signature is what it inherits from.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("members.tsv")
LOADED = frozenset(
    {
        *("mscorlib", "System", "System.Core", "System.Xml", "System.Management", "System.DirectoryServices"),
        *("System.Data", "System.Transactions", "System.Configuration", "System.Configuration.Install"),
        *("System.Numerics", "System.Management.Automation"),
    }
)
"""What Windows PowerShell 5.1 has loaded when it starts; all else needs Add-Type. Unverified: it is what
[AppDomain]::CurrentDomain.GetAssemblies() says in a fresh one, which no test here can ask."""
_INHERITED = {
    "System.Collections.IDictionary": "System.Collections.ICollection",
    "System.Collections.IList": "System.Collections.ICollection",
    "System.Collections.ICollection": "System.Collections.IEnumerable",
    "System.Collections.IDictionaryEnumerator": "System.Collections.IEnumerator",
    "System.Collections.Generic.IEnumerator`1": "System.Collections.IEnumerator",
}
"""What an interface inherits, which the table does not say."""
_ARGUMENT = re.compile(r"\bT(Key|Value|Result|Output|Source)?\b")


@dataclass(frozen=True, order=True)
class Member:
    """A line of the table. `name` is empty for a type and a constructor; `parameters` are types, with `params ` before
    a list of any length, `optional ` before what may be left out, `ref ` before what is handed back."""

    assembly: str
    type: str
    kind: str
    how: str
    signature: str
    versions: str = "5.1"

    @property
    def name(self) -> str:
        return re.split(r"[( ]", self.signature, maxsplit=1)[0] if self.kind not in {"type", "new"} else ""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Of a method or constructor, their types alone."""
        inside = self.signature[self.signature.find("(") + 1 : self.signature.rfind(")")]
        return tuple(_without_name(each) for each in apart(inside))

    @property
    def returns(self) -> str:
        """What a method returns, a property or field is of."""
        rest = self.signature[self.signature.rfind(")") + 1 :].strip() if self.kind == "method" else ""
        return rest or (self.signature.split(" ")[1] if self.kind in {"property", "field"} else "")

    def takes(self, count: int) -> bool:
        """Whether it can be called with so many arguments."""
        if self.parameters and self.parameters[-1].startswith("params "):
            return count >= len(self.parameters) - 1
        least = sum(not each.startswith("optional ") for each in self.parameters)
        return least <= count <= len(self.parameters)

    def __str__(self) -> str:
        return "\t".join((self.assembly, self.type, self.kind, self.how, self.signature, self.versions))


class Members:
    """A table, asked by names as PowerShell takes them: without regard to case."""

    def __init__(self, members: Iterable[Member]) -> None:
        self.types: dict[str, Member] = {}
        self._of: dict[tuple[str, str], list[Member]] = {}
        self.by_name: dict[str, list[Member]] = {}
        self._found: dict[tuple[str, str], list[Member]] = {}
        for member in members:
            if member.kind == "type":
                self.types.setdefault(member.type.lower(), member)
                continue
            name = "new" if member.kind == "new" else member.name.lower()
            self._of.setdefault((member.type.lower(), name), []).append(member)
            self.by_name.setdefault(name, []).append(member)

    @classmethod
    def read(cls, path: Path) -> Members:
        """The committed table, or the whole one, packed or not."""
        text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        rows = (line.split("\t") for line in text.decode().splitlines() if not line.startswith("#"))
        return cls(Member(*row) for row in rows if len(row) >= 5)

    def type(self, name: str) -> Member | None:
        """A type by its whole name; of a generic one, with or without its arguments."""
        return self.types.get(generic(name).lower())

    def find(self, of: str, name: str) -> list[Member]:
        """The members of a type that have this name, the inherited ones, too; `new` for constructors.

        What they return has the type's arguments in place of their names.
        """
        key = (of, name.lower())
        if key not in self._found:
            self._found[key] = self._looked_up(of, name)
        return self._found[key]

    def _looked_up(self, of: str, name: str) -> list[Member]:
        found: list[Member] = []
        for each in self.line(of):
            found += self._of.get((each.lower(), name.lower()), [])
            if name == "new":
                break
        if name.lower().startswith(("get_", "set_")) and not found:
            return self.find(of, name[4:])
        return found

    def line(self, of: str) -> Iterator[str]:
        """A type and what it inherits from."""
        name = "System.Array" if of.endswith("[]") else generic(of)
        while name:
            yield name
            known = self.types.get(name.lower())
            name = generic(known.signature) if known is not None else _INHERITED.get(name, "")
            if known is not None and known.how == "interface":
                name = _INHERITED.get(known.type, "System.Object")

    def named(self, name: str) -> list[Member]:
        """The members of any type that have this name."""
        return self.by_name.get(name.lower().removeprefix("get_"), []) or self.by_name.get(name.lower(), [])


def returned(member: Member, of: str) -> str:
    """What a member of a type gives: `List`1[System.String]`'s Item is a System.String."""
    arguments = apart(of[of.find("[") + 1 : -1]) if "`" in of and "[" in of else []
    order = {"T": 0, "TKey": 0, "TResult": 0, "TValue": 1}

    def put_in(match: re.Match[str]) -> str:
        place = order.get(match[0], 9)
        return arguments[place] if place < len(arguments) else "System.Object"

    return _ARGUMENT.sub(put_in, member.returns)


def generic(name: str) -> str:
    """A type's name without its arguments."""
    return re.sub(r"(`\d+)\[.*\]$", r"\1", name)


def apart(text: str) -> Sequence[str]:
    """What commas separate, not those between brackets."""
    found, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            found.append(text[begin:place].strip())
            begin = place + 1
    last = text[begin:].strip()
    return [*found, last] if last else found


def _without_name(parameter: str) -> str:
    words = parameter.split(" ")
    return " ".join(words[:-1]) if len(words) > 1 else parameter
