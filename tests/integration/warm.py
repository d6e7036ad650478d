"""Ansible's commands, started from a process that has imported Ansible already.

Importing takes a third of a short run's processor time, and the scenarios run Ansible a thousand times. Processes:

    server      one for each process of pytest; has imported what Ansible and the collection import of other projects,
                and what of the collection imports nothing of Ansible
    template    one for each environment and ansible.cfg: a copy of the server that has set the environment and imported
                Ansible, which reads both while it is imported, and, if it is of use, our plugins. Benches that
                are open one after the other have the same environment: it names links (tests/integration/lab.py)
    run         a copy of the template: working folder, streams, arguments; from there on Ansible's own `main`

No run collects garbage: none lives long, and looking through what was imported costs each of its processes more. What
is not proven in this way is the start itself: that is done by tests/integration/test_demo.py and test_three_ways.py,
which start the commands as a user does, by the real clock.

**The clock of a run goes on by itself while it sleeps.** A pause of 0.05 s or more is over at once, and
`time.monotonic` says that it has passed: nothing that the collection waits for takes real time, since nodes and cluster
have clocks of their own, which go on when they are asked something. Not with `WINKUBE_REAL_CLOCK=1` in the environment
of the run.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from tests.compiled_once import keep_code
from tests.integration import cheaper
from tests.integration.read_once import ReadOnce

ROOT = Path(__file__).resolve().parents[2]
COLLECTIONS = ROOT / ".venv" / "collections"
OURS = "ansible_collections.winkube.node.plugins"
REAL_CLOCK = "WINKUBE_REAL_CLOCK"
ZIPPED = Path(__file__).with_name("zipped")
PAYS_FROM = 3
"""The run of a template before which it loads what the collection's actions share: many have one or two."""
MAINS = {
    "ansible": "ansible.cli.adhoc",
    "ansible-inventory": "ansible.cli.inventory",
    "ansible-playbook": "ansible.cli.playbook",
}
SHORT_S = 0.05
"""A pause below this is real: it is how Ansible lets its own threads and processes work."""
STEP_S = 0.002
"""What a longer one takes really: others get their turn."""
POLL_S = 0.005
"""How often Ansible looks whether a worker is done, by the real clock; its own is 0.001."""
LONGEST_POLL_S = 0.1
"""After this it looks whether all workers live, where none has sent anything."""
OTHERS = (
    *("jinja2", "jinja2.nativetypes", "jinja2.sandbox", "yaml", "packaging.version", "resolvelib", "logging.config"),
    *("cryptography.hazmat.primitives.ciphers.algorithms", "cryptography.hazmat.primitives.asymmetric.ed25519"),
    *("cryptography.hazmat.backends", "cryptography.x509", "asyncio", "multiprocessing.queues", "getpass", "curses"),
    *("kubernetes", "kubernetes.config", "kubernetes.stream", "winrm", "requests", "pydantic", "tomllib", "zipfile"),
    *("tarfile", "http.client", "urllib.request", "pty", "pickle", "fractions", "concurrent.futures.process"),
)

WITHOUT_ANSIBLE = (
    *("engine", "facts", "messages", "network", "components", "cluster", "cri", "cri_tcp", "diagnosis", "repair"),
)
"""Packages of plugin_utils, so that no template needs to import them."""
OUR_PLUGINS = ("action", "callback", "connection", "inventory")
"""Kinds of the collection's own plugins, with what they import: that was a fifth of what Ansible's own process did."""
ANSIBLE_IMPORTS = (
    *("ansible.cli.scripts", "ansible.executor.process.worker", "ansible.executor.task_executor"),
    *("ansible.playbook.handler", "ansible.playbook.included_file", "ansible.playbook.role.include"),
    *("ansible.playbook.role_include", "ansible.utils.version", "ansible.utils.shlex"),
    *("ansible._internal._errors._task_timeout", "ansible._internal._json._profiles._inventory_legacy"),
    *("ansible.module_utils._internal._json._profiles._module_legacy_c2m",),
    *("ansible.module_utils._internal._json._profiles._module_legacy_m2c", "encodings.utf_16_le"),
)
"""Of Ansible's own modules those that it imports late."""
PLUGINS: dict[str, tuple[str, ...]] = {
    "become": (),
    "cache": ("memory",),
    "callback": ("default", "minimal", "junit"),
    "connection": ("ssh", "local", "winrm", "psrp"),
    "inventory": (),
    "shell": (),
    "strategy": ("linear",),
    "action": ("debug", "assert", "fail", "set_fact", "validate_argument_spec", "include_vars"),
}
"""Ansible's plugins by kind; of a kind without names all. No vars plugins: group_vars and host_vars are read by those
that a run loads itself."""
EVERY_RUN_CALLS = ("win_k8s_node_info", "win_k8s_uncordon")
"""Modules, besides those of the components, whose argument_spec is made of their documentation."""


@dataclass(frozen=True)
class Ended:
    """One run: exit status, output, its processor seconds with all its workers."""

    rc: int
    stdout: str
    stderr: str
    cpu_s: float


# -- in the process of pytest ------------------------------------------------------------------------------------------


class Warm:
    """The server of this process."""

    cpu_s = 0.0
    """Processor seconds of all runs so far: they are nobody's children here."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE", "PYTHON"))}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", "tests.integration.warm", str(theirs.fileno())],
                cwd=ROOT,
                env={**environment, "LANG": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self._door = ours
        self._pid = os.getpid()
        self._own: dict[str, Any] | None = None

    def run(
        self,
        command: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        cwd: Path,
        timeout_s: float,
        *,
        own: bool = False,
    ) -> Ended:
        """A run to its end; subprocess.TimeoutExpired, as of `subprocess`. own: few have this environment."""
        template = _template_of(environment, cwd)
        if own:
            self._keep(template)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            with theirs:
                _send(self._door, template, [theirs.fileno()])
            request = {"line": [command, *arguments], "cwd": str(cwd)}
            _send(ours, request, [out.fileno(), err.fileno()])
            pid = _receive(ours)[0]["pid"]
            ours.settimeout(timeout_s)
            try:
                said, _ = _receive(ours)
            except BaseException as error:
                _end(pid, ours)
                if isinstance(error, TimeoutError):
                    raise subprocess.TimeoutExpired([command, *arguments], timeout_s) from error
                raise
            Warm.cpu_s += said["cpu_s"]
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(stream.read().decode(errors="replace").replace("\r\n", "\n"))
        return Ended(said["rc"], texts[0], texts[1], said["cpu_s"])

    def _keep(self, template: dict[str, Any]) -> None:
        """Of templates that few runs have only the last stays, as each takes memory: the tests of a file often have the
        same one after the other."""
        if self._own not in (None, template):
            with contextlib.suppress(OSError):
                _send(self._door, {"forget": self._own}, [])
        self._own = template

    def close(self) -> None:
        if os.getpid() == self._pid:
            self._door.close()
            self._process.wait(timeout=30)


def _template_of(environment: Mapping[str, str], cwd: Path) -> dict[str, Any]:
    """What Ansible reads while it is imported: runs that have the same of it have one template."""
    files = (cwd / "ansible.cfg", Path(environment["HOME"]) / ".ansible.cfg")
    settings = [f"{path}: {path.read_text(encoding='utf-8')}" for path in files if path.is_file()]
    return {"environment": dict(environment), "settings": settings}


def _end(pid: int, door: socket.socket) -> None:
    """Ask Ansible to end: its workers are in sessions of their own, so that only Ansible itself can end them."""
    for which in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(OSError):
            os.kill(pid, which)
        door.settimeout(10)
        with contextlib.suppress(OSError, EOFError):
            _receive(door)
            return


_WARM: list[Warm] = []


def warm() -> Warm:
    """The one of this process."""
    if not _WARM:
        _WARM.append(Warm())
        atexit.register(_WARM[0].close)
    return _WARM[0]


# -- messages: JSON, and files -----------------------------------------------------------------------------------------

LONGEST = 150_000


def _send(door: socket.socket, message: Any, files: Sequence[int]) -> None:
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
    door.sendmsg([json.dumps(message).encode()], rights)


def _receive(door: socket.socket) -> tuple[Any, list[int]]:
    """EOFError when the other side has gone."""
    data, files, _, _ = socket.recv_fds(door, LONGEST, 4)
    if not data:
        raise EOFError
    return json.loads(data), files


# -- the server --------------------------------------------------------------------------------------------------------


def _serve(door: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for pytest, which ends its runs and then this
    for name in OTHERS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    let_the_clock_go_on()
    _import_what_needs_no_ansible()
    templates: dict[str, socket.socket] = {}
    while True:
        try:
            message, files = _receive(door)
        except EOFError:
            return
        if "forget" in message:
            if gone := templates.pop(json.dumps(message["forget"], sort_keys=True), None):
                gone.close()
            continue
        key = json.dumps(message, sort_keys=True)
        if key not in templates:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            if os.fork() == 0:
                for other in (door, ours, *templates.values()):
                    other.close()
                _as_template(theirs, message["environment"])
            theirs.close()
            templates[key] = ours
        _send(templates[key], {}, files)
        for file in files:
            os.close(file)


def _as_template(door: socket.socket, environment: Mapping[str, str]) -> NoReturn:
    try:
        os.environ.clear()
        os.environ.update(environment)
        _Clock.is_real = REAL_CLOCK in environment
        memory: ReadOnce | None = None
        runs = 0
        while True:
            try:
                _, files = _receive(door)
            except EOFError:
                os._exit(0)
            client = socket.socket(fileno=files[0])
            request, streams = _receive(client)
            began = time.process_time()
            if memory is not None:
                memory.learn()
            else:
                # Ansible looks for ansible.cfg in the working folder, while it is imported.
                os.chdir(request["cwd"])
                for main in MAINS.values():
                    importlib.import_module(main)
                from ansible import constants
                from ansible.config.manager import cleanup_tmp_file

                if [str(COLLECTIONS)] != constants.COLLECTIONS_PATHS:
                    _forget_modules("ansible_collections")
                atexit.unregister(cleanup_tmp_file)  # the folder is this process's; see _own_local_folder
                constants.DEFAULT_INTERNAL_POLL_INTERVAL = POLL_S
                cheaper.install()
                _wake_by_results()
                gc.disable()
                memory = ReadOnce()
                began = 0.0
            runs += 1
            if runs == PAYS_FROM:
                _import_the_collection()
            spent = time.process_time() - began
            if os.fork() == 0:
                door.close()
                _watch(client, request, streams, spent)
            client.close()
            for file in streams:
                os.close(file)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def _watch(client: socket.socket, request: Mapping[str, Any], streams: Sequence[int], spent: float) -> NoReturn:
    """Says which process the run is, waits for it and says how it ended, and what was spent on it before."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.thread_time()
    pid = os.fork()
    if pid == 0:
        client.close()
        _as_ansible(request, streams)
    with contextlib.suppress(OSError):
        _send(client, {"pid": pid}, [])
        _, status, usage = os.wait4(pid, 0)
        rc = os.waitstatus_to_exitcode(status)
        cpu_s = spent + usage.ru_utime + usage.ru_stime + time.thread_time() - began
        _send(client, {"rc": rc, "cpu_s": cpu_s}, [])
    os._exit(0)


def _as_ansible(request: Mapping[str, Any], streams: Sequence[int]) -> NoReturn:
    rc: Any = 1
    try:
        command, *arguments = request["line"]
        for number, stream in enumerate(streams, start=1):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(request["cwd"])
        os.environ["PWD"] = request["cwd"]  # as a shell says where the command was given
        os.environ.setdefault("PYTHONPATH", str(ZIPPED))  # for modules that it starts here; this process has its path
        sys.argv = [str(Path(sys.executable).parent / command), *arguments]
        _own_local_folder()
        _own_run_id()
        try:
            rc = sys.modules[MAINS[command]].main()
        except SystemExit as ended:
            rc = ended.code
        except KeyboardInterrupt:
            rc = 130
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(rc if isinstance(rc, int) else int(rc is not None))


def _own_local_folder() -> None:
    """The folder for temporary files, which Ansible makes while it is imported: one for each run, gone at its end."""
    from ansible import constants
    from ansible.config.manager import cleanup_tmp_file

    parent = Path(constants.DEFAULT_LOCAL_TMP).parent
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = tempfile.mkdtemp(prefix=f"ansible-local-{os.getpid()}", dir=parent)
    constants.DEFAULT_LOCAL_TMP = folder
    atexit.register(cleanup_tmp_file, folder, warn=True)


def _own_run_id() -> None:
    """The collection's id of a run, which it makes while it is imported: the next run has another."""
    run_id, began = uuid.uuid4().hex, datetime.now().astimezone()
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{OURS}.") and hasattr(module, "RUN_ID"):
            module.RUN_ID = run_id  # type: ignore[attr-defined]
        if name.startswith(f"{OURS}.") and hasattr(module, "BEGAN"):
            module.BEGAN = began  # type: ignore[attr-defined]
        if name.startswith(f"{OURS}.") and hasattr(module, "give_back_at_end"):
            module.give_back_at_end()
        if name.startswith(f"{OURS}.") and hasattr(module, "write_records_at_end"):
            module.write_records_at_end()


@contextlib.contextmanager
def _importing_from(paths: Sequence[str]) -> Iterator[None]:
    """Imports find the collection there. The packages around are left to the run, which looks at the collection's
    metadata when it imports them."""
    from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder

    keep_code()
    finder = _AnsibleCollectionFinder(paths=list(paths), scan_sys_paths=False)
    finder._install()
    yield
    finder._remove()
    _forget_modules("ansible_collections", but=OURS)


def _forget_modules(beginning: str, but: str = " ") -> None:
    for name in [name for name in sys.modules if name.startswith(beginning) and not name.startswith(but)]:
        del sys.modules[name]


def _import_what_needs_no_ansible() -> None:
    folder = ROOT / "plugins" / "plugin_utils"
    with _importing_from([str(COLLECTIONS)]):
        for path in (path for package in WITHOUT_ANSIBLE for path in sorted((folder / package).rglob("*.py"))):
            if not path.stem.startswith("__"):
                name = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
                with contextlib.suppress(ImportError):
                    importlib.import_module(f"{OURS}.{name}")


def _import_the_collection() -> None:
    """What its actions share, where the environment says that it lies."""
    from ansible import constants

    with _importing_from(constants.COLLECTIONS_PATHS):
        for path in (path for kind in OUR_PLUGINS for path in sorted((ROOT / "plugins" / kind).glob("*.py"))):
            with contextlib.suppress(ImportError):
                importlib.import_module(f"{OURS}.{path.parent.name}.{path.stem}")
        with contextlib.suppress(ImportError):
            specs = importlib.import_module(f"{OURS}.plugin_utils.task.argument_spec")
            registry = importlib.import_module(f"{OURS}.plugin_utils.components.registry")
            for name in (*EVERY_RUN_CALLS, *(each.module for each in registry.COMPONENTS)):
                specs.load_spec(name)
        _load_plugins()


def _load_plugins() -> None:
    """What Ansible looks for in files by name, and each run would load and read the documentation of anew."""
    from ansible.plugins import loader

    for name in ANSIBLE_IMPORTS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with contextlib.suppress(Exception):
        for kind, names in PLUGINS.items():
            plugins = getattr(loader, f"{kind}_loader")
            for name in names:
                plugins.get(name, class_only=True)
            if not names:
                list(plugins.all(class_only=True))


_CAME = threading.Event()
"""Something that a worker has sent was dealt with."""


def _wake_by_results() -> None:
    """A pause of `POLL_S` ends when a worker has sent something: looking 200 times a second was up to half of what
    Ansible's own process did, the more the longer a busy machine lets it wait."""
    from ansible.executor.task_queue_manager import FinalQueue

    waits = FinalQueue.get

    def get(self: Any) -> Any:
        _CAME.set()  # who asks for the next one has put the one before where it is looked for
        return waits(self)

    FinalQueue.get = get


class _Clock:
    """Of this process."""

    is_real = False


def let_the_clock_go_on() -> None:
    real_sleep, real_monotonic = time.sleep, time.monotonic
    passed = 0.0

    def sleep(seconds: float, /) -> None:
        nonlocal passed
        if _Clock.is_real:
            real_sleep(seconds)
        elif seconds == POLL_S:
            _CAME.wait(LONGEST_POLL_S)
            _CAME.clear()
        elif seconds < SHORT_S:
            real_sleep(seconds)
        else:
            real_sleep(STEP_S)
            passed += seconds

    def monotonic() -> float:
        return real_monotonic() + passed

    time.sleep, time.monotonic = sleep, monotonic  # type: ignore[assignment]


if __name__ == "__main__":
    sys.path.remove(str(ROOT))  # a run has what a user's has: nothing of this folder
    _serve(socket.socket(fileno=int(sys.argv[1])))
