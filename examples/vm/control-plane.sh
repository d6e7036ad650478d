#!/usr/bin/env bash
# A Linux control plane by kubeadm with flannel (vxlan, the numbers that Windows needs), beside the Windows machine.
# Run it as root on a fresh Debian 12 or Ubuntu machine of the same network:
#
#   sudo ./control-plane.sh 1.34 192.168.122.10
#
# It prints where the kubeconfig is. Sources: kubernetes.io, Creating a cluster with kubeadm; flannel, Documentation/kube-flannel.yml.
set -euo pipefail

if [ $# -ne 2 ] || [ "$(id -u)" -ne 0 ]; then
  sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
  exit 1
fi
minor=$1 address=$2
flannel=v0.28.0

swapoff --all
printf 'br_netfilter\noverlay\n' >/etc/modules-load.d/kubernetes.conf
modprobe --all br_netfilter overlay
printf 'net.ipv4.ip_forward = 1\nnet.bridge.bridge-nf-call-iptables = 1\n' >/etc/sysctl.d/99-kubernetes.conf
sysctl --quiet --system

apt-get update --quiet
apt-get install --yes --quiet ca-certificates containerd curl gpg
mkdir -p /etc/containerd /etc/apt/keyrings
containerd config default | sed 's/SystemdCgroup = false/SystemdCgroup = true/' >/etc/containerd/config.toml
systemctl restart containerd

packages=https://pkgs.k8s.io/core:/stable:/v$minor/deb/
curl --fail --silent --show-error --location "${packages}Release.key" | gpg --yes --dearmor -o /etc/apt/keyrings/kubernetes.gpg
echo "deb [signed-by=/etc/apt/keyrings/kubernetes.gpg] $packages /" >/etc/apt/sources.list.d/kubernetes.list
apt-get update --quiet
apt-get install --yes --quiet kubeadm kubectl kubelet
apt-mark hold kubeadm kubectl kubelet

kubeadm init --apiserver-advertise-address "$address" --pod-network-cidr 10.244.0.0/16 --service-cidr 10.96.0.0/12
export KUBECONFIG=/etc/kubernetes/admin.conf
# Windows' VXLAN knows no other network identifier than those from 4096 on, and no other port than 4789.
curl --fail --silent --show-error --location \
  "https://github.com/flannel-io/flannel/releases/download/$flannel/kube-flannel.yml" |
  sed 's/"Type": "vxlan"/"Type": "vxlan", "VNI": 4096, "Port": 4789/' | kubectl apply --filename -
kubectl wait --for=condition=Ready node --all --timeout=300s
echo "kubeconfig: $KUBECONFIG; copy it to the controller: scp root@$address:$KUBECONFIG ."
