"""Calls for which .NET has an overload more than .NET Framework, which PowerShell 7 takes: that it makes no difference.

All others of them have arguments of the very types of an overload that both have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.members.members import Member
from tests.members.uses import Use


@dataclass(frozen=True)
class Choice:
    """`five`, `seven`: the overloads that each PowerShell takes for arguments of these types. `calls`: such calls, each
    with one that can mean `five` alone; both give the same."""

    of: str
    name: str
    arguments: tuple[str, ...]
    five: str
    seven: str
    calls: tuple[tuple[str, str], ...]

    def is_of(self, use: Use, both: Sequence[Member], more: Sequence[Member]) -> bool:
        """Whether it speaks of a call, and still of the overloads that there are."""
        return (
            use.receiver == {self.of}
            and use.name.lower() == self.name.lower()
            and all(given == {one} for given, one in zip(use.types, self.arguments, strict=True))
            and self.five in {_shown(member) for member in both}
            and self.seven in {_shown(member) for member in (*both, *more)}
        )


def _shown(member: Member) -> str:
    return f"{member.name}({', '.join(member.parameters)})"


_TEXT = "System.String"
_LETTERS = "params System.Char[]"
CHOICES = (
    Choice(
        _TEXT,
        "Trim",
        (_TEXT,),
        f"Trim({_LETTERS})",
        f"Trim({_LETTERS})",
        tuple((f"{text}.Trim('\"')", f"{text}.Trim([char[]]@([char]34))") for text in ("'\"a\"'", "'a'", "''")),
    ),
    Choice(
        _TEXT,
        "TrimEnd",
        (_TEXT,),
        f"TrimEnd({_LETTERS})",
        f"TrimEnd({_LETTERS})",
        tuple((f"{text}.TrimEnd('\\')", f"{text}.TrimEnd([char[]]@([char]92))") for text in (r"'C:\\'", "'C:'", "''")),
    ),
    Choice(
        _TEXT,
        "Split",
        (_TEXT,),
        f"Split({_LETTERS})",
        "Split(System.String, optional System.StringSplitOptions)",
        (
            ("'a;;b'.Split(';') -join '|'", "'a;;b'.Split([char[]]@([char]59)) -join '|'"),
            ("''.Split(';').Length", "''.Split([char[]]@([char]59)).Length"),
            ("'fe80::1%3'.Split('%')[0]", "'fe80::1%3'.Split([char[]]@([char]37))[0]"),
        ),
    ),
    Choice(
        "System.TimeSpan",
        "FromMilliseconds",
        ("System.Int32",),
        "FromMilliseconds(System.Double)",
        "FromMilliseconds(System.Int64)",
        tuple(
            (f"[timespan]::FromMilliseconds({number}).Ticks", f"[timespan]::FromMilliseconds([double]{number}).Ticks")
            for number in (0, 1, 999, 5000, 2147483647)
        ),
    ),
)
