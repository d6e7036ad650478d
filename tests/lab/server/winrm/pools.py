"""The PowerShell runspace pools of one node: WS-Management's shells whose commands are pipelines of PSRP.

The protocol inside (fragments, CLIXML, states) is psrpcore's. What the messages are wrapped in, and their order, is as
Windows was recorded: a pool answers two Receives before it is open, each message is a Stream of its own, the end of a
pipeline comes with the state Done and the exit code 0, whatever the script's own. The client
names its pool and its pipelines.

A pool is wsmprovhost.exe, and outlives its connections as a shell does. A pipeline is a thread of it; here a process
under it stands for that. One pipeline is one remote call.

Sources: Microsoft, [MS-PSRP] and [MS-WSMV]; jborean93/pypsrp 42a34ed tests/tests_pypsrp/responses, recorded exchanges.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import uuid
from dataclasses import dataclass, field
from typing import Any

import psrpcore
from psrpcore.types import HostMethodIdentifier, PSInvocationState

from tests.lab.machine.session import Reply
from tests.lab.server.winrm import soap
from tests.lab.server.winrm.shells import PIECE, Command, Outcome, Shell, Shells
from tests.lab.server.winrm.soap import POWERSHELL, SHELL, Message, element

HOST = "C:\\Windows\\System32\\wsmprovhost.exe"
FRAGMENT = 32768
"""Bytes of a fragment. Source: PowerShell, remoting/fanin/BaseTransportManager.cs, DefaultFragmentSize."""
NAMESPACE = "http://schemas.microsoft.com/powershell"
_LAST_EXIT_CODE = "\nexit $LASTEXITCODE"
"""What Ansible adds to a command that is no script of its own. Source: ansible-core 2.21.5 plugins/connection/psrp.py.
"""
_SIGNALS = ("terminate", "crtl_c", "ctrl_c")
"""The second one is no slip of ours: clients write it either way. Source: [MS-WSMV], 3.1.4.13; pypsrp 0.9.1 shell.py.
"""


@dataclass(eq=False)
class Pipeline(Command):
    """A pipeline: `line` is what stands for its script on a command line, `stdin` its input, a line for each object.
    `made` speaks PSRP; `answers` are the messages that have not been fetched."""

    made: psrpcore.ServerPipeline = field(kw_only=True)
    answers: list[bytes] | None = None


@dataclass(eq=False)
class Pool(Shell):
    """`engine` speaks PSRP; `answers` are the messages of the pool itself, those of one Receive in one list."""

    engine: psrpcore.ServerRunspacePool = field(default_factory=psrpcore.ServerRunspacePool)
    answers: list[list[bytes]] = field(default_factory=list)


class RunspacePools(Shells):
    """`answer` is the whole of it."""

    resource = POWERSHELL

    async def _create(self, message: Message, user: str) -> str:
        asked = None if message.body is None else message.body.get("ShellId")
        opening = None if message.body is None else message.body.findtext(f"{{{NAMESPACE}}}creationXml")
        if not opening:
            raise ValueError("a runspace pool needs creationXml, the first fragments of PSRP")
        node = self._host.node
        session = await self._host.run(lambda: node.open_shell(user, HOST))
        pool = Pool((asked or str(uuid.uuid4())).upper(), session, node.clock.now())
        self._shells[pool.id] = pool
        self._host.count(shells=1)
        self._read(pool, opening, None)
        capability, *rest = _taken(pool.engine)
        pool.answers = [[capability, *rest[:-1]], rest[-1:]]
        return self._created(pool, user, "stdin pr", "stdout")

    async def _command(self, message: Message, user: str) -> str:
        pool = self._find_pool(message)
        assert message.body is not None
        number = uuid.UUID(message.body.get("CommandId") or str(uuid.uuid4()))
        finished: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        made = psrpcore.ServerPipeline(pool.engine, number)
        pipeline = Pipeline(str(number).upper(), "", True, finished, made=made)
        node = self._host.node
        pipeline.session = await self._host.run(lambda: node.open_command(pool.session, HOST))
        pool.commands[pipeline.id] = pipeline
        self._host.count(pipelines=1)
        for argument in message.body.iter(f"{{{SHELL}}}Arguments"):
            self._read(pool, argument.text or "", pipeline)
        return f"<rsp:CommandResponse>{element('CommandId', pipeline.id)}</rsp:CommandResponse>"

    async def _send(self, message: Message, user: str) -> str:
        pool, command = self._find_pool(message), self._find_command(message, "Stream")[1]
        assert message.body is not None and isinstance(command, Pipeline)
        for stream in message.body.iter(f"{{{SHELL}}}Stream"):
            self._read(pool, stream.text or "", command)
        return "<rsp:SendResponse></rsp:SendResponse>"

    async def _receive(self, message: Message, user: str) -> str:
        pool = self._find_pool(message)
        asked = None if message.body is None else next(message.body.iter(f"{{{SHELL}}}DesiredStream"), None)
        if asked is not None and asked.get("CommandId"):
            return await super()._receive(message, user)
        if not pool.answers:  # nothing comes from a pool that is open: who asks waits
            await asyncio.sleep(message.timeout_s)
            raise soap.timed_out()
        streams = "".join(_stream(data) for data in pool.answers.pop(0))
        return f"<rsp:ReceiveResponse>{streams}</rsp:ReceiveResponse>"

    async def _signal(self, message: Message, user: str) -> str:
        pool = self._find_pool(message)
        pipeline = self._find_command(message, "Signal")[1]
        code = "" if message.body is None else message.body.findtext(f"{{{SHELL}}}Code") or ""
        if code.rpartition("/")[2].lower() not in _SIGNALS:
            raise ValueError(f"the simulated node knows the signals {', '.join(_SIGNALS)}, not {code!r}")
        await self._host.run(lambda: self._kill(pipeline))
        del pool.commands[pipeline.id]
        return "<rsp:SignalResponse></rsp:SignalResponse>"

    # -- messages ------------------------------------------------------------------------------------------------

    def _find_pool(self, message: Message) -> Pool:
        pool = self._find(message)
        assert isinstance(pool, Pool)
        return pool

    def _read(self, pool: Pool, fragments: str, pipeline: Pipeline | None) -> None:
        """Take what a message carries for the pool or a pipeline; a pipeline that has all its input starts."""
        try:
            data = base64.b64decode(fragments, validate=True)
        except binascii.Error as error:
            raise ValueError(f"the fragments are not base64: {error}") from error
        number = None if pipeline is None else pipeline.made.pipeline_id
        if pipeline is not None:
            self._host.count(bytes_in=len(data))
        try:
            pool.engine.receive_data(psrpcore.PSRPPayload(data, psrpcore.StreamType.default, number))
            while (event := pool.engine.next_event()) is not None:
                if pipeline is not None:
                    self._take(event, pipeline)
        except psrpcore.PSRPCoreError as error:
            raise ValueError(f"this is no PSRP: {error}") from error

    def _take(self, event: psrpcore.PSRPEvent[Any, Any], pipeline: Pipeline) -> None:
        if isinstance(event, psrpcore.CreatePipelineEvent):
            pipeline.line = _command_line(event.pipeline)
            if event.pipeline.no_input:
                self._start(pipeline)
        elif isinstance(event, psrpcore.PipelineInputEvent):
            pipeline.stdin += f"{event.data}\n".encode()
        elif isinstance(event, psrpcore.EndOfPipelineInputEvent):
            del pipeline.stdin[-1:]
            self._start(pipeline)

    def _piece(self, command: Command, reply: Reply) -> str:
        """The next messages of a finished pipeline; with the last one its state."""
        assert isinstance(command, Pipeline)
        if command.answers is None:
            command.answers = _said(command, reply)
        body, size = "", 0
        while command.answers and size + len(command.answers[0]) <= PIECE:
            data = command.answers.pop(0)
            size += len(data)
            body += _stream(data, CommandId=command.id)
        self._host.count(bytes_out=size)
        if not command.answers:
            state = f"{SHELL}/CommandState/Done"
            body += f'<rsp:CommandState CommandId="{command.id}" State="{state}">{element("ExitCode", "0")}'
            body += "</rsp:CommandState>"
        return f"<rsp:ReceiveResponse>{body}</rsp:ReceiveResponse>"


def _said(pipeline: Pipeline, reply: Reply) -> list[bytes]:
    """What a command line has printed, as what a script gives: an object for each line, the host's error lines, an exit
    code that is not 0 as a call of the host."""
    made = pipeline.made
    made.state = PSInvocationState.Running  # start() would say so, and Windows does not
    for line in _lines(reply.stdout):
        made.write_output(line)
    for line in _lines(reply.stderr):
        made.host_call(HostMethodIdentifier.WriteErrorLine, [line])
    if reply.exit_status:
        made.host_call(HostMethodIdentifier.SetShouldExit, [reply.exit_status])
    made.complete()
    made.close()
    return _taken(made.runspace_pool)


def _command_line(pipeline: psrpcore.PowerShell | psrpcore.GetMetadata) -> str:
    """What the same work is on a command line: a script of Ansible's is what `-EncodedCommand` carries there."""
    if (
        not isinstance(pipeline, psrpcore.PowerShell)
        or len(pipeline.commands) != 1
        or not pipeline.commands[0].is_script
    ):
        raise ValueError("the simulated node runs pipelines of one script, as Ansible's are")
    command = pipeline.commands[0]
    script = command.command_text
    if script.endswith(_LAST_EXIT_CODE):
        return script.removesuffix(_LAST_EXIT_CODE)
    arguments = "".join(f" {value}" for _, value in command.parameters)
    return f"powershell.exe -EncodedCommand {base64.b64encode(script.encode('utf-16-le')).decode()}{arguments}"


def _lines(printed: bytes) -> list[str]:
    return printed.decode().removesuffix("\r\n").split("\r\n") if printed else []


def _taken(engine: psrpcore.ServerRunspacePool) -> list[bytes]:
    """What the engine has to say, a fragment each: 21 bytes of a head, whose last four are the length of the rest."""
    found = []
    while (payload := engine.data_to_send(FRAGMENT)) is not None:
        data = payload.data
        while data:
            end = 21 + int.from_bytes(data[17:21], "big")
            found.append(data[:end])
            data = data[end:]
    return found


def _stream(data: bytes, **attributes: str) -> str:
    return element("Stream", base64.b64encode(data).decode(), Name="stdout", **attributes)
