"""`make pwsh`: the contract's cases under a real PowerShell (tests/contract/README.md)."""
