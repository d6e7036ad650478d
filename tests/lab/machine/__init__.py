"""The simulated machine: clock, drive, registry, services, processes, tasks, pipes, network, faults."""
