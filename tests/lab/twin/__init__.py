"""The Python twin of node_probe.ps1, node_apply.ps1 and runner.ps1, written from docs/protocol.md."""
