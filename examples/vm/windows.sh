#!/usr/bin/env bash
# A Windows Server evaluation machine on libvirt that installs itself and answers SSH with your key.
#
#   ./windows.sh NAME WINDOWS.iso VIRTIO-WIN.iso KEY.pub ADDRESS
#   ./windows.sh win1 SERVER_EVAL_x64FRE_en-us.iso virtio-win.iso ~/.ssh/id_ed25519.pub 192.168.122.220
#
# It takes half an hour; `virt-viewer NAME` shows how far it is. Needed: libvirt with the network `default`, virt-install, xorriso.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

if [ $# -ne 5 ]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
  exit 1
fi
name=$1 windows=$2 virtio=$3 key=$4 address=$5
for program in virt-install virsh xorriso; do
  command -v "$program" >/dev/null || { echo "$program is missing; Debian: apt install virtinst libvirt-clients xorriso" >&2; exit 1; }
done
for file in "$windows" "$virtio" "$key"; do
  [ -r "$file" ] || { echo "$file cannot be read" >&2; exit 1; }
done
if ! [[ $name =~ ^[a-z0-9][a-z0-9-]{0,14}$ ]]; then
  echo "$name: a name of Windows has at most 15 characters; use a-z, 0-9 and -" >&2
  exit 1
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
umask 077
password=$(tr -dc 'A-HJ-NP-Za-km-z2-9' </dev/urandom | head -c 20 || true)-1a
sed -e "s/@NAME@/$name/" -e "s/@PASSWORD@/$password/g" "$here/autounattend.xml" >"$folder/autounattend.xml"
cp "$key" "$folder/winkube.pub"
cp "$here/../../playbooks/files/bootstrap-ssh.ps1" "$folder/"
answers=${XDG_DATA_HOME:-$HOME/.local/share}/winkube-vm/$name-answers.iso
mkdir -p "$(dirname "$answers")"
xorriso -as mkisofs -quiet -V ANSWERS -J -r -o "$answers" "$folder"

mac=52:54:00:$(md5sum <<<"$name" | sed 's/^\(..\)\(..\)\(..\).*/\1:\2:\3/')
virsh --connect qemu:///system net-update default add-last ip-dhcp-host \
  "<host mac='$mac' name='$name' ip='$address'/>" --live --config
echo "Administrator's password, for the console: $password"
# UEFI boots a CD of Windows only if a key is pressed within some seconds.
(
  for _ in $(seq 30); do
    sleep 1
    virsh --connect qemu:///system send-key "$name" KEY_SPACE >/dev/null 2>&1 || true
  done
) &
# --wait: virt-install turns the first restart into a stop, and only if it waits for that does it start the machine again.
# Source: virt-manager virtinst/install/installer.py, _alter_bootconfig.
virt-install --connect qemu:///system --name "$name" --memory 8192 --vcpus 4 --cpu host-passthrough --os-variant win2k22 \
  --boot uefi --cdrom "$windows" --disk "path=$virtio,device=cdrom" --disk "path=$answers,device=cdrom" \
  --disk size=60,bus=virtio --network "network=default,model=virtio,mac=$mac" --noautoconsole --wait -1
echo "When it is there: ssh Administrator@$address hostname; then delete $answers, which has the password."
