"""Nothing is found out half-way: the first task, or a plan of all nodes, says what cannot work before a change."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import pytest

from tests.integration.lab import Bench
from tests.integration.site import VERSION, checksum, converge, differences, site
from tests.integration.whole import OVERLAY, Whole
from tests.lab.cluster.pki import Authority, Identity
from tests.unit.cluster import witness


@pytest.mark.exhaustive
def test_a_wrong_dns_address_is_said_before_the_first_change(bench: Bench) -> None:
    """Failed before: host, cni, containerd, kubelet and join had run when flannel's task refused it."""
    whole = Whole(bench, OVERLAY)
    whole.host.in_turn(lambda: whole.host.node.clock.set_off(-172_800))
    before = bench.dump()
    run = whole.site(
        winkube_dns_service_ip="10.200.0.10", winkube_flannel_checksum="", winkube_containerd_version="1.6.27"
    )
    assert run.rc != 0
    assert "winkube_dns_service_ip: 10.200.0.10 does not lie in winkube_service_cidr" in run.output, run
    assert "The node's clock says" in run.output, run
    assert "flanneld: the source" in run.output and "has no checksum" in run.output, run
    assert differences(before, bench.dump()) == []
    assert bench.calls() == 1


def test_all_nodes_are_planned_before_the_first_change_where_that_is_wanted(bench: Bench) -> None:
    for name, address in (("win1", "192.168.122.220"), ("win2", "192.168.122.221")):
        bench.node(name, address)
    before = {name: bench.dump(name) for name in ("win1", "win2")}

    only = site(bench, winkube_preflight="only")
    assert only.rc == 0, only
    assert "win2: would install containerd" in only.output, only
    assert "installed containerd" not in only.output

    wrong = "{{ {'version': 9} if inventory_hostname == 'win2' else {} }}"
    first = site(bench, winkube_preflight="first", winkube_containerd_config_extra=wrong)
    assert first.rc != 0
    assert "Nothing was changed on any node. win2 cannot be made what is wanted" in " ".join(first.output.split()), (
        first
    )
    assert {name: differences(old, bench.dump(name)) for name, old in before.items()} == {"win1": [], "win2": []}

    good = site(bench, winkube_preflight="first")
    assert good.rc == 0, good
    assert "win2: installed containerd" in good.output, good


@pytest.mark.exhaustive
def test_a_slip_in_tags_and_a_variable_that_is_not_defined_are_named_by_the_first_task(bench: Bench) -> None:
    bench.node("win1")
    before = bench.dump()
    slip = site(bench, "--tags", "containered")
    assert slip.rc != 0, slip
    assert "--tags containered: no role has this tag. Did you mean containerd?" in slip.output, slip

    foreign = site(bench, "--tags", "linux")
    assert foreign.rc == 0, foreign
    assert "win1: nothing was looked at: the run's tags leave no role in it" in foreign.output, foreign

    undefined = site(bench, winkube_containerd_version="{{ my_containerd_version }}")
    assert undefined.rc != 0, undefined
    assert "winkube_containerd_version: a variable that it uses is not defined for win1: " in undefined.output, (
        undefined
    )
    assert "'my_containerd_version' is undefined" in undefined.output, undefined
    assert differences(before, bench.dump()) == []


@pytest.mark.exhaustive
def test_what_the_last_component_refuses_is_said_by_the_first_task(bench: Bench) -> None:
    """Failed before: everything but kube-proxy had been installed when its own task refused the option."""
    whole = Whole(bench, OVERLAY)
    before = bench.dump()
    run = whole.site(winkube_kube_proxy_feature_gates={"WinDSR": "perhaps"})
    assert run.rc != 0
    assert "feature_gates.WinDSR: 'perhaps' is neither true nor false." in run.output, run
    assert "TASK [Prepare the machine" not in run.output, run
    assert differences(before, bench.dump()) == []
    assert bench.calls() == 1


@pytest.mark.exhaustive
def test_where_nothing_differs_the_first_task_is_the_last(bench: Bench) -> None:
    whole = Whole(bench, OVERLAY)
    first = whole.converge()
    assert re.search(r"win1: \d+ steps: host \d+, cni \d+, containerd \d+, kubelet \d+, join", first.output), first
    bench.reset_ledger()
    again = whole.converge()
    assert "win1: nothing differs" in again.output, again
    assert again.recap["win1"].ok == 1, again
    assert bench.calls() == 1

    # A service that has stopped since is a difference of one component; -v says which step.
    whole.host.in_turn(lambda: whole.host.node.run(r"C:\Windows\System32\sc.exe", ["stop", "kube-proxy"]))
    stopped = whole.site("-v", "--check")
    assert "win1: 1 step: kube_proxy 1" in stopped.output, stopped
    assert "win1: kube_proxy: would start kube-proxy" in stopped.output, stopped
    only = whole.site("--tags", "containerd")
    assert "win1: nothing differs" in only.output and only.recap["win1"].ok == 1, only
    assert whole.state("kube-proxy") == "stopped"
    rest = whole.site("--skip-tags", "containerd")
    assert rest.rc == 0 and whole.state("kube-proxy") == "running", rest


@pytest.mark.exhaustive
def test_a_node_that_is_done_stops_no_batch(bench: Bench) -> None:
    for name, address in (("win1", "192.168.122.220"), ("win2", "192.168.122.221")):
        bench.node(name, address)
    assert site(bench, "--limit", "win1").rc == 0
    run = site(bench, winkube_serial=1)
    assert run.rc == 0, run
    assert "win1: nothing differs" in run.output, run
    assert "win2: installed containerd" in run.output, run


@contextmanager
def sum_file(bench: Bench, text: str) -> Iterator[tuple[str, str]]:
    """The address of a sum file under https, and the file of the authority that its server is trusted by."""
    authority = Authority()
    pair = authority.issue(Identity("sums", (), ("localhost",)), ("server auth",))

    class Sums(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(
        bench.file("sums.pem", pair.certificate.decode()), bench.file("sums.key", pair.key.decode())
    )
    with witness.running(witness.Server(Sums, context)) as server:
        yield (f"https://localhost:{server.port}/sums", str(bench.file("ca.pem", authority.pem.decode())))


def test_what_only_its_own_server_vouches_for_is_told_once_in_a_run(bench: Bench) -> None:
    """And not for a node that has it, nor where the sum comes from elsewhere."""
    bench.node("win1", "192.168.122.220")
    bench.node("win2", "192.168.122.221")
    told = f"not pinned: containerd {VERSION}: only the server of the file vouches for it"
    digest = checksum().removeprefix("sha256:")
    with sum_file(bench, f"{digest}  containerd-{VERSION}-windows-amd64.tar.gz\n") as (address, ca):
        name = f"containerd-{VERSION}-windows-amd64.tar.gz"
        summed = {"winkube_containerd_checksum": address, "env": {"SSL_CERT_FILE": ca}}
        own = {"winkube_containerd_url": f"http://localhost/{name}", **summed}
        planned = converge(bench, "--check", **own)
        assert planned.output.count(told) == 1 and planned.output.count("not pinned") == 1, planned
        assert planned.output.index(told) < planned.output.index("would install containerd")
        elsewhere = converge(bench, winkube_containerd_url=f"http://xyz/{name}", **summed)
        assert "installed containerd" in elsewhere.output and "not pinned" not in elsewhere.output, elsewhere
        again = converge(bench, **own)
    assert again.recap["win1"].changed == 0 and "not pinned" not in again.output, again
