"""The WinRM shells of one node: the six actions that a client has, answered as Windows answers them.

A shell is a process on the node and outlives its connections: it ends with Delete, with the power, or after two hours
without a request. A command is a process under it. One command is one remote call.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.lab.machine.errors import PowerLost, SessionKilled
from tests.lab.machine.session import Reply, Session
from tests.lab.server import shell as programs
from tests.lab.server.winrm import soap
from tests.lab.server.winrm.soap import CMD_SHELL, SHELL, TRANSFER, Message, element

if TYPE_CHECKING:
    from tests.lab.server.host import NodeHost

IDLE_S = 7200.0
"""Source: `winrm get winrm/config/winrs`, IdleTimeout = 7200000."""
CMD_LIMIT = 8191
"""Characters that cmd.exe takes. Source: Microsoft, "Command prompt line string limitation"."""
PIECE = 65536
"""Bytes of output in one answer to Receive: base64 of them and the envelope stay below the clients' MaxEnvelopeSize."""
INTERRUPTED = 0xC000013A
"""STATUS_CONTROL_C_EXIT, a program's exit code after Ctrl+C."""
CMD = "C:\\Windows\\System32\\cmd.exe"

Outcome = Reply | SessionKilled | PowerLost


@dataclass(eq=False)
class Command:
    """One command of a shell. `finished` has its outcome once it has ended; `sent` counts the bytes fetched of it."""

    id: str
    line: str
    waits_for_input: bool
    finished: asyncio.Future[Outcome]
    stdin: bytearray = field(default_factory=bytearray)
    session: Session | None = None
    started: bool = False
    sent: int = 0


@dataclass(eq=False)
class Shell:
    id: str
    session: Session
    used: float
    commands: dict[str, Command] = field(default_factory=dict)


class Shells:
    """`answer` is the whole of it."""

    resource = CMD_SHELL

    def __init__(self, host: NodeHost) -> None:
        self._host = host
        self._shells: dict[str, Shell] = {}
        self._actions: dict[str, Callable[[Message, str], Coroutine[Any, Any, str]]] = {
            f"{TRANSFER}/Create": self._create,
            f"{TRANSFER}/Delete": self._delete,
            f"{SHELL}/Command": self._command,
            f"{SHELL}/Send": self._send,
            f"{SHELL}/Receive": self._receive,
            f"{SHELL}/Signal": self._signal,
        }

    async def answer(self, message: Message, user: str) -> bytes:
        """The envelope that answers a message. FaultError; SessionKilled and PowerLost when nobody answers any more."""
        action = self._actions.get(message.action)
        if action is None or message.resource != self.resource:
            raise soap.not_simulated(message.action, message.resource)
        await self._host.run(self._sweep)
        return soap.answer(message, await action(message, user))

    def _sweep(self) -> None:
        """Forget shells that have died, end those that have been idle too long."""
        node = self._host.node
        for shell in list(self._shells.values()):
            if not shell.session.killed and node.clock.now() - shell.used > IDLE_S:
                self._end(shell)
            if shell.session.killed:
                self._shells.pop(shell.id, None)

    def _end(self, shell: Shell) -> None:
        """Runs in the node's turn."""
        node = self._host.node
        for command in shell.commands.values():
            if command.session in node.sessions:
                node.close_session(command.session)
        if shell.session in node.sessions:
            node.close_session(shell.session)

    def _find(self, message: Message) -> Shell:
        shell = self._shells.get(message.shell_id)
        if shell is None:
            raise soap.no_such_shell(message.shell_id)
        shell.used = self._host.node.clock.now()
        return shell

    def _find_command(self, message: Message, tag: str) -> tuple[Shell, Command]:
        """The command that the first element called `tag` names by its CommandId."""
        shell = self._find(message)
        found = None if message.body is None else next(message.body.iter(f"{{{SHELL}}}{tag}"), None)
        command = shell.commands.get((found.get("CommandId") or "").upper() if found is not None else "")
        if command is None:
            raise soap.no_such_command()
        return shell, command

    # -- the actions ---------------------------------------------------------------------------------------------

    async def _create(self, message: Message, user: str) -> str:
        node = self._host.node
        session = await self._host.run(lambda: node.open_shell(user))
        shell = Shell(str(uuid.uuid4()).upper(), session, node.clock.now())
        self._shells[shell.id] = shell
        self._host.count(shells=1)
        return self._created(shell, user, "stdin", "stdout stderr")

    def _created(self, shell: Shell, user: str, inputs: str, outputs: str) -> str:
        selectors = f'<w:SelectorSet><w:Selector Name="ShellId">{shell.id}</w:Selector></w:SelectorSet>'
        return (
            f"<x:ResourceCreated><a:Address>http://{self._host.spec.address}:5985/wsman</a:Address>"
            f"<a:ReferenceParameters><w:ResourceURI>{self.resource}</w:ResourceURI>{selectors}</a:ReferenceParameters>"
            f"</x:ResourceCreated><rsp:Shell>{element('ShellId', shell.id)}{element('ResourceUri', self.resource)}"
            f"{element('Owner', user)}{element('IdleTimeOut', f'PT{IDLE_S:.3f}S')}{element('InputStreams', inputs)}"
            f"{element('OutputStreams', outputs)}</rsp:Shell>"
        )

    async def _delete(self, message: Message, user: str) -> str:
        shell = self._find(message)
        await self._host.run(lambda: self._end(shell))
        self._shells.pop(shell.id, None)
        return ""

    async def _command(self, message: Message, user: str) -> str:
        shell = self._find(message)
        words = [] if message.body is None else [
            item.text or "" for item in message.body if item.tag in (f"{{{SHELL}}}Command", f"{{{SHELL}}}Arguments")
        ]  # fmt: skip
        line = " ".join(words).strip()
        console = message.options.get("WINRS_CONSOLEMODE_STDIN", "FALSE").upper() == "TRUE"
        finished: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        command = Command(str(uuid.uuid4()).upper(), line, not console and programs.reads_stdin(line), finished)
        node = self._host.node
        command.session = await self._host.run(lambda: node.open_command(shell.session, CMD))
        shell.commands[command.id] = command
        self._host.count(winrm_commands=1, bytes_in=len(line.encode()))
        if message.options.get("WINRS_SKIP_CMD_SHELL", "FALSE").upper() != "TRUE" and len(line) > CMD_LIMIT:
            finished.set_result(Reply(stderr=b"The command line is too long.\r\n", exit_status=1))
        elif not command.waits_for_input:
            self._start(command)
        return f"<rsp:CommandResponse>{element('CommandId', command.id)}</rsp:CommandResponse>"

    async def _send(self, message: Message, user: str) -> str:
        _, command = self._find_command(message, "Stream")
        assert message.body is not None  # _find_command has looked into it
        for stream in message.body.iter(f"{{{SHELL}}}Stream"):
            try:
                data = base64.b64decode(stream.text or "", validate=True)
            except binascii.Error as error:
                raise ValueError(f"the stream is not base64: {error}") from error
            self._host.count(bytes_in=len(data))
            command.stdin += data
            if (stream.get("End") or "").lower() == "true" and command.waits_for_input and not command.started:
                self._start(command)
        return "<rsp:SendResponse></rsp:SendResponse>"

    async def _receive(self, message: Message, user: str) -> str:
        _, command = self._find_command(message, "DesiredStream")
        await asyncio.wait({command.finished}, timeout=message.timeout_s)
        if not command.finished.done() or message.gone():  # then nobody reads the answer: the output is kept
            raise soap.timed_out()
        outcome = command.finished.result()
        if isinstance(outcome, Exception):
            raise outcome
        return self._piece(command, outcome)

    async def _signal(self, message: Message, user: str) -> str:
        shell, command = self._find_command(message, "Signal")
        code = "" if message.body is None else message.body.findtext(f"{{{SHELL}}}Code") or ""
        kind = code.rpartition("/")[2].lower()
        if kind not in ("terminate", "ctrl_c", "ctrl_break"):
            raise ValueError(f"the simulated node knows the signals terminate, ctrl_c and ctrl_break, not {code!r}")
        if kind != "terminate" and not command.finished.done():
            command.finished.set_result(Reply(exit_status=INTERRUPTED))
        await self._host.run(lambda: self._kill(command))
        if kind == "terminate":
            del shell.commands[command.id]
        return "<rsp:SignalResponse></rsp:SignalResponse>"

    # -- a command's life ----------------------------------------------------------------------------------------

    def _kill(self, command: Command) -> None:
        if command.session in self._host.node.sessions:
            self._host.node.close_session(command.session)

    def _start(self, command: Command) -> None:
        command.started = True
        self._host.spawn(self._run(command))

    async def _run(self, command: Command) -> None:
        await asyncio.sleep(self._host.spec.latency_s)
        assert command.session is not None
        outcome: Outcome
        try:
            outcome = await self._host.respond(command.session, command.line, bytes(command.stdin))
        except (SessionKilled, PowerLost) as error:
            outcome = error
        if not command.finished.done():  # else a signal has ended it
            command.finished.set_result(outcome)

    def _piece(self, command: Command, reply: Reply) -> str:
        """The next piece of a finished command's output; with the last one the exit code."""
        begin, end = command.sent, command.sent + PIECE
        command.sent = min(end, len(reply.stdout) + len(reply.stderr))
        split = len(reply.stdout)
        pieces = (
            ("stdout", reply.stdout[begin:end]),
            ("stderr", reply.stderr[max(0, begin - split) : max(0, end - split)]),
        )
        body = ""
        for name, data in pieces:
            if data:
                text = base64.b64encode(data).decode()
                body += element("Stream", text, Name=name, CommandId=command.id)
                self._host.count(bytes_out=len(data))
        done = command.sent == len(reply.stdout) + len(reply.stderr)
        if done:
            for name in ("stdout", "stderr"):
                body += element("Stream", Name=name, CommandId=command.id, End="true")
        state = f"{SHELL}/CommandState/{'Done' if done else 'Running'}"
        code = element("ExitCode", str(reply.exit_status)) if done else ""
        body += f'<rsp:CommandState CommandId="{command.id}" State="{state}">{code}</rsp:CommandState>'
        return f"<rsp:ReceiveResponse>{body}</rsp:ReceiveResponse>"
