"""The lab's server side: what makes simulated Windows nodes reachable by a real Ansible over real SSH.

Nothing is imported here: `connect` (the ProxyCommand) runs once per SSH connection and must start in milliseconds.
"""
