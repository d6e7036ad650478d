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


# Builds: Microsoft, "Windows Server release information". The revisions are examples of monthly updates, not the
# newest.
WINDOWS_SERVER_2019 = Release("Windows Server 2019 Standard", 17763, 6054, "1809")
WINDOWS_SERVER_2022 = Release("Windows Server 2022 Standard", 20348, 2582, "21H2")
WINDOWS_SERVER_23H2 = Release("Windows Server Standard", 25398, 1189, "23H2")
WINDOWS_SERVER_2025 = Release("Windows Server 2025 Standard", 26100, 1742, "24H2")

RELEASES: dict[str, Release] = {
    "2019": WINDOWS_SERVER_2019,
    "2022": WINDOWS_SERVER_2022,
    "23h2": WINDOWS_SERVER_23H2,
    "2025": WINDOWS_SERVER_2025,
}
