"""A real kube-controller-manager beside the API server of api_server.py, with the controllers that a test names.
Each is a user of its own, so that the audit log says who did what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.real import api_server, build
from tests.real.api_server import Server, free_ports, started, until

PROGRAM = "kube-controller-manager"
ACCOUNTS = "system:serviceaccount:kube-system:"
COLLECTOR = f"{ACCOUNTS}generic-garbage-collector"


def missing() -> str:
    """The command that builds what is not there; empty if all is."""
    return api_server.missing(PROGRAM)


@contextmanager
def running(server: Server, controllers: Sequence[str]) -> Iterator[None]:
    """With it, these controllers work."""
    folder = server.folder
    kubeconfig = server.kubeconfig(server.admin)
    (port,) = free_ports(1)
    line = [
        build.program(PROGRAM, api_server.VERSION),
        f"--kubeconfig={kubeconfig}", f"--controllers={','.join(controllers)}",
        "--leader-elect=false", "--use-service-account-credentials=true",
        f"--service-account-private-key-file={folder / 'sa.key'}", "--bind-address=127.0.0.1", f"--secure-port={port}",
        f"--cert-dir={folder / 'controllers'}", f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
    ]  # fmt: skip
    log = folder / f"{PROGRAM}.log"
    with started(log, line) as program:

        def works() -> bool:
            assert program.poll() is None, log.read_text(errors="replace")[-3000:]
            return server.admin.get("/api/v1/namespaces/default/serviceaccounts/default").status == 200

        until(works, f"no {PROGRAM} within {api_server.START_S:g} s: {log}")
        yield
