"""kubeadm.exe reads our JoinConfiguration, and kubelet.exe starts with the values of our drop-in: the tests of lane
`real`, on the builds for Windows."""

from __future__ import annotations

from tests.real.upstream.test_configuration_files import *  # noqa: F403
