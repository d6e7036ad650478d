"""The SOAP envelopes of WS-Management: a request read, an answer or a fault written.

Sources: Microsoft, [MS-WSMV] (Web Services Management Protocol Extensions for Windows Vista), sections 2.2.4 and
3.1.4; DMTF, DSP0226 (WS-Management 1.0); the numbers of faults: Microsoft, wsmerror.h.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

ENVELOPE = "http://www.w3.org/2003/05/soap-envelope"
ADDRESSING = "http://schemas.xmlsoap.org/ws/2004/08/addressing"
TRANSFER = "http://schemas.xmlsoap.org/ws/2004/09/transfer"
WSMAN = "http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd"
SHELL = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell"
FAULT = "http://schemas.microsoft.com/wbem/wsman/1/wsmanfault"
CMD_SHELL = f"{SHELL}/cmd"
POWERSHELL = "http://schemas.microsoft.com/powershell/Microsoft.PowerShell"
ANONYMOUS = f"{ADDRESSING}/role/anonymous"

DEFAULT_TIMEOUT_S = 60.0
"""OperationTimeout where the client names none. Source: `winrm get winrm/config`, MaxTimeoutms = 60000."""
_DURATION = re.compile(r"^PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?$")


class FaultError(Exception):
    """A fault to be sent: who is to blame (`Sender`, `Receiver`), its subcode, Windows' number, the sentence."""

    def __init__(self, blame: str, subcode: str, number: int, sentence: str) -> None:
        super().__init__(sentence)
        self.blame = blame
        self.subcode = subcode
        self.number = number


def timed_out() -> FaultError:
    return FaultError(
        "Receiver",
        "w:TimedOut",
        2150858793,
        "The WS-Management service cannot complete the operation within the time specified in OperationTimeout.  ",
    )


def no_such_shell(shell_id: str) -> FaultError:
    return FaultError(
        "Sender",
        "w:InvalidSelectors",
        2150858843,
        f"The request for the Windows Remote Shell with ShellId {shell_id} failed because the shell was not found on "
        "the server. Possible causes are: the specified ShellId is incorrect or the shell no longer exists on the "
        "server. Provide the correct ShellId or create a new shell and retry the operation. ",
    )


def no_such_command() -> FaultError:
    return FaultError(
        "Sender",
        "w:InvalidSelectors",
        2150858843,
        "The Windows Remote Shell received a request to perform an operation on a command identifier that does not "
        "exist. Either the command has completed execution or the client specified an invalid command identifier. ",
    )


def not_simulated(action: str, resource: str) -> FaultError:
    """ERROR_WSMAN_INVALID_ACTIONURI, with a sentence of the lab."""
    return FaultError(
        "Sender",
        "a:ActionNotSupported",
        2150858753,
        f"The simulated node does not know the action {action or '(none)'} of {resource or '(no resource)'}; it has "
        "the shell cmd and the configuration Microsoft.PowerShell: Create, Command, Send, Receive, Signal, Delete.",
    )


@dataclass(frozen=True)
class Message:
    """One request.

    action: the whole URI; resource: ResourceURI; options: the OptionSet; body: the Body's only child, if any; gone:
    whether the connection that it came by has been cut since.
    """

    action: str
    message_id: str
    resource: str
    shell_id: str
    timeout_s: float
    options: Mapping[str, str]
    body: ElementTree.Element | None
    gone: Callable[[], bool] = lambda: False


def parse(document: bytes) -> Message:
    """Read an envelope. ValueError with a sentence when it is none."""
    try:
        root = ElementTree.fromstring(document)
    except ElementTree.ParseError as error:
        raise ValueError(f"the body of the request is no XML: {error}") from error
    header = root.find(f"{{{ENVELOPE}}}Header")
    if root.tag != f"{{{ENVELOPE}}}Envelope" or header is None:
        raise ValueError("the body of the request is no SOAP 1.2 envelope with a header")
    body = root.find(f"{{{ENVELOPE}}}Body")
    selectors = {item.get("Name"): item.text or "" for item in header.iter(f"{{{WSMAN}}}Selector")}
    return Message(
        action=(header.findtext(f"{{{ADDRESSING}}}Action") or "").strip(),
        message_id=(header.findtext(f"{{{ADDRESSING}}}MessageID") or "").strip(),
        resource=(header.findtext(f"{{{WSMAN}}}ResourceURI") or "").strip(),
        shell_id=(selectors.get("ShellId") or "").strip().upper(),
        timeout_s=seconds(header.findtext(f"{{{WSMAN}}}OperationTimeout"), DEFAULT_TIMEOUT_S),
        options={item.get("Name") or "": item.text or "" for item in header.iter(f"{{{WSMAN}}}Option")},
        body=None if body is None else next(iter(body), None),
    )


def seconds(duration: str | None, default: float) -> float:
    """`PT1M2.5S` -> 62.5. ValueError for what is no duration of hours, minutes and seconds."""
    if not duration:
        return default
    match = _DURATION.match(duration.strip())
    if not match:
        raise ValueError(f"this is no duration of hours, minutes and seconds: {duration:.40}")
    hours, minutes, rest = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + rest


def element(name: str, text: str = "", **attributes: str) -> str:
    """One XML element of the shell's namespace with text in it."""
    said = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    return f"<rsp:{name}{said}>{escape(text)}</rsp:{name}>"


def answer(message: Message, body: str) -> bytes:
    """The envelope that answers a message; `body` is XML."""
    action = message.action + "Response"
    return _envelope(action, message.message_id, body)


def fault(error: FaultError, relates_to: str, machine: str) -> bytes:
    text = escape(str(error))
    body = (
        f"<s:Fault><s:Code><s:Value>s:{error.blame}</s:Value><s:Subcode><s:Value>{error.subcode}</s:Value></s:Subcode>"
        f'</s:Code><s:Reason><s:Text xml:lang="en-US">{text}</s:Text></s:Reason><s:Detail>'
        f'<f:WSManFault xmlns:f="{FAULT}" Code="{error.number}" Machine={quoteattr(machine)}>'
        f"<f:Message>{text}</f:Message></f:WSManFault></s:Detail></s:Fault>"
    )
    return _envelope("http://schemas.dmtf.org/wbem/wsman/1/wsman/fault", relates_to, body)


def _envelope(action: str, relates_to: str, body: str) -> bytes:
    related = f"<a:RelatesTo>{escape(relates_to)}</a:RelatesTo>" if relates_to else ""
    return (
        f'<s:Envelope xml:lang="en-US" xmlns:s="{ENVELOPE}" xmlns:a="{ADDRESSING}" xmlns:x="{TRANSFER}" '
        f'xmlns:w="{WSMAN}" xmlns:rsp="{SHELL}"><s:Header><a:Action>{escape(action)}</a:Action>'
        f"<a:MessageID>uuid:{uuid.uuid4()}</a:MessageID><a:To>{ANONYMOUS}</a:To>{related}</s:Header>"
        f"<s:Body>{body}</s:Body></s:Envelope>"
    ).encode()
