"""Whether a row's tests notice that the value behind the row is another: `python -m tests.mutate --seed N`."""
