"""Programs of the simulated machine, one file each: see `catalogue.py` for which lab build is which."""
