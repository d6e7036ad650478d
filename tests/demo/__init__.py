"""`make demo`: SWDT's own Node YAML becomes a running containerd service on a simulated Windows node."""
