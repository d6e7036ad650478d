"""kubelet.exe and kube-proxy.exe parse what we render, and refuse what our tables refuse: the tests of lane `real`, on
the builds for Windows."""

from __future__ import annotations

from tests.real.upstream.test_accepted import *  # noqa: F403
