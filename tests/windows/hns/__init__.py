"""HNS for Windows programs on Wine: the two DLLs (hns.c), and the lab's HNS behind them (server.py)."""
