"""Blocks of 64 ports that are left for HNS, by what netsh prints."""

from __future__ import annotations

from random import Random

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import findings_in
from ansible_collections.winkube.node.plugins.plugin_utils.network.port_blocks import (
    Ports,
    PortsError,
    count_free_blocks,
    parse,
)

from tests.unit.network.random_nodes import healthy
from tests.unit.network.reading import scene

DYNAMIC = """
Protocol tcp Dynamic Port Range
---------------------------------
Start Port      : 49152
Number of Ports : 16384

"""
# The same in German, whose words differ and whose numbers do not.
GERMAN = "\r\nDynamischer Portbereich tcp\r\n----\r\nStartport           : 49152\r\nAnzahl von Ports    : 16384\r\n"
EXCLUDED = """
Protocol tcp Port Exclusion Ranges

Start Port    End Port
----------    --------
      5357        5357
     49152       49215
     50000       50059     *

* - Administered port exclusions.
"""


@pytest.mark.parametrize("dynamic", [DYNAMIC, GERMAN])
def test_the_numbers_count_whatever_the_language(dynamic: str) -> None:
    assert parse({"tcp_dynamic": dynamic}) == (Ports("tcp", 49152, 65535, 256),)
    # 49216-49999: 12 blocks; 50060-65535: 241
    assert parse({"tcp_dynamic": dynamic, "tcp_excluded": EXCLUDED}) == (Ports("tcp", 49152, 65535, 253),)


def test_blocks_between_excluded_ranges() -> None:
    assert count_free_blocks(1000, 1127, []) == 2
    assert count_free_blocks(1000, 1127, [(1063, 1063)]) == 1
    assert count_free_blocks(1000, 1127, [(1064, 1064)]) == 1
    assert count_free_blocks(1000, 1127, [(900, 1100), (1050, 1060)]) == 0
    assert count_free_blocks(1000, 1127, [(1, 10), (2000, 3000)]) == 2


def test_few_blocks_are_an_error_and_enough_are_none() -> None:
    node = healthy(Random(5))
    full = "".join(f"  {port}  {port}\n" for port in range(49152, 65536, 60))
    for excluded, wanted in ((full, ["hns.ports-exhausted"]), (EXCLUDED, [])):
        ports = parse({"tcp_dynamic": DYNAMIC, "tcp_excluded": excluded})
        found = findings_in(scene(node, None, (), ports))
        assert [each.id for each in found] == wanted


def test_what_is_no_range_is_said() -> None:
    assert parse({}) == ()
    with pytest.raises(PortsError, match=r"^port_ranges\.udp_dynamic: "):
        parse({"udp_dynamic": "The system cannot find the file specified."})
