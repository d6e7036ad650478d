"""Programs by name, judged by go 1.26.8 src/os/exec/lp_windows.go.

A program that is started by its name: where Windows' builds of Go look for it.

Sources: Go src/os/exec/lp_windows.go (LookPath), exec.go (ErrDot); k8s.io/utils exec/fixup_go119.go (maskErrDotCmd).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.lab.machine.errors import WinError

if TYPE_CHECKING:
    from tests.lab.machine.drive import Drive
    from tests.lab.machine.program import Caller

_ENDINGS = ".COM;.EXE;.BAT;.CMD"


class NotFoundError(Exception):
    """What Go says; the text is the whole of it."""


def look_up(drive: Drive, caller: Caller, name: str, *, takes_current: bool = False) -> str:
    """The file that `name` starts: the current folder comes first, then each folder of Path, as it stands there.

    takes_current: the caller starts what it finds in the current folder, as k8s.io/utils/exec does; os/exec refuses it.
    Nothing in Path is expanded any more: who starts the process has done so. NotFoundError.
    """
    given = {key.lower(): value for key, value in caller.environment.items()}
    endings = [one for one in given.get("pathext", _ENDINGS).lower().split(";") if one]
    names = [name] if any(name.lower().endswith(one) for one in endings) else [f"{name}{one}" for one in endings]
    here = _first(drive, caller.cwd, names)
    if here and takes_current:
        return here
    if here:
        raise NotFoundError(f'exec: "{name}": cannot run executable found relative to current directory')
    for folder in given.get("path", "").split(";"):
        found = _first(drive, folder.strip('"'), names)
        if found:
            return found
    raise NotFoundError(f'exec: "{name}": executable file not found in %PATH%')


def _first(drive: Drive, folder: str, names: list[str]) -> str:
    if folder[1:3] != ":\\":
        return ""
    for name in names:
        path = f"{folder.rstrip(chr(92))}\\{name}"
        try:
            if drive.is_file(path):
                return path
        except WinError:  # an entry that is no path
            continue
    return ""
