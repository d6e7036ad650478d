"""A small Kubernetes cluster: API server, controllers and what kubeadm leaves in it; simulated, for the lab's nodes.

Nothing here runs pods. README.md of the lab says what is and what is not simulated.
"""
