"""The Windows releases that the lab can be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    """product: as `ProductName` in the registry; build and revision: `CurrentBuildNumber` and `UBR`."""

    product: str
    build: int
    revision: int
    display: str
    installation_type: str = "Server Core"
    architecture: str = "amd64"


# Builds: Microsoft, "Windows Server release information". The revisions are those of March 2026, with which nothing is
# known to be wrong, and an example for 23H2; 2022-broken is that of July 2024, which lost the pods' network.
WINDOWS_SERVER_2019 = Release("Windows Server 2019 Standard", 17763, 8511, "1809")
WINDOWS_SERVER_2022 = Release("Windows Server 2022 Standard", 20348, 4893, "21H2")
WINDOWS_SERVER_2022_BROKEN = Release("Windows Server 2022 Standard", 20348, 2582, "21H2")
WINDOWS_SERVER_23H2 = Release("Windows Server Standard", 25398, 1189, "23H2")
WINDOWS_SERVER_2025 = Release("Windows Server 2025 Standard", 26100, 32522, "24H2")

RELEASES: dict[str, Release] = {
    "2019": WINDOWS_SERVER_2019,
    "2022": WINDOWS_SERVER_2022,
    "2022-broken": WINDOWS_SERVER_2022_BROKEN,
    "23h2": WINDOWS_SERVER_23H2,
    "2025": WINDOWS_SERVER_2025,
}
