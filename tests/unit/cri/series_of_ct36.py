"""What kubelet's summary said of two busy pods on a Windows node, in the order in which it was read (CT-36).

Source: the article that requirements.md calls S1, lines 346-353 (containerd 1.7.12) and 365-370 (containerd 1.6.27).
"""

from __future__ import annotations

A = "cpulimittest-57aeaf8c-406e-4568-bba7-5ba86e390b04"
B = "cpulimittest-71a8a462-bfb6-4306-a1be-176f0266ebf1"

WITH_DEFECT = [
    (A, 439449510),
    (B, 503096265),
    (A, 0),
    (B, 0),
    (A, 1506845973),
    (B, 337382462),
    (A, 0),
    (B, 0),
]
WITHOUT = [
    (A, 500618452),
    (B, 478772447),
    (B, 478772447),
    (A, 500618452),
    (B, 478772447),
    (A, 500618452),
]
