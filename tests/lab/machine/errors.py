"""Windows' own errors, with the sentences of an English system, and what ends a simulated process or machine."""

from __future__ import annotations

# Source: Microsoft, "System Error Codes" (0-499, 1000-1299, 1600-1699).
MESSAGES: dict[int, str] = {
    1: "Incorrect function.",
    2: "The system cannot find the file specified.",
    3: "The system cannot find the path specified.",
    5: "Access is denied.",
    17: "The system cannot move the file to a different disk drive.",
    32: "The process cannot access the file because it is being used by another process.",
    87: "The parameter is incorrect.",
    112: "There is not enough space on the disk.",
    145: "The directory is not empty.",
    183: "Cannot create a file when that file already exists.",
    193: "%1 is not a valid Win32 application.",
    206: "The filename or extension is too long.",
    216: "This version of %1 is not compatible with the version of Windows you're running. Check your computer's "
    "system information and then contact the software publisher.",
    267: "The directory name is invalid.",
    1051: "A stop control has been sent to a service that other running services are dependent on.",
    1053: "The service did not respond to the start or control request in a timely fashion.",
    1056: "An instance of the service is already running.",
    1058: "The service cannot be started, either because it is disabled or because it has no enabled devices "
    "associated with it.",
    1060: "The specified service does not exist as an installed service.",
    1061: "The service cannot accept control messages at this time.",
    1062: "The service has not been started.",
    1067: "The process terminated unexpectedly.",
    1068: "The dependency service or group failed to start.",
    1072: "The specified service has been marked for deletion.",
    1073: "The specified service already exists.",
    1075: "The dependency service does not exist or has been marked for deletion.",
    1077: "No attempts to start the service have been made since the last boot.",
    1078: "The name is already in use as either a service name or a service display name.",
    1115: "A system shutdown is in progress.",
    1116: "Unable to abort the system shutdown because no shutdown was in progress.",
    1190: "A system shutdown has already been scheduled.",
    1307: "This security ID may not be assigned as the owner of this object.",
    1722: "The RPC server is unavailable.",
    1639: "Invalid command line argument. Consult the Windows Installer SDK for detailed command line help.",
}


class WinError(Exception):
    """A Win32 error: its number, and what it happened to."""

    def __init__(self, code: int, subject: str = "") -> None:
        self.code = code
        self.subject = subject
        self.text = MESSAGES.get(code, f"Unknown error {code}.")
        super().__init__(f"{subject}: {self.text} ({code})" if subject else f"{self.text} ({code})")


class ProcessKilled(BaseException):
    """Raised inside the process that is being killed, so that none of its own handlers sees it."""


class SessionKilled(Exception):  # noqa: N818
    """The remote session, and every process under it, was killed: the caller gets no answer."""


class PowerLost(Exception):  # noqa: N818
    """The machine lost its power: the caller gets no answer."""


class Unreachable(PowerLost):
    """The machine runs, but has no network at the moment, or is on its way down: nobody gets an answer."""


class NotSimulated(Exception):  # noqa: N818
    """The lab does not know this; the sentence says what."""
