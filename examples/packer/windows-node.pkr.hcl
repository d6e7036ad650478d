# A golden image of a Windows node by Packer and QEMU: Windows installs itself, image.yml brings everything up to the join, sysprep ends it.
#
#   packer init .
#   PKR_VAR_password='...' packer build -var iso=SERVER_EVAL_x64FRE_en-us.iso -var key=$HOME/.ssh/id_ed25519 .
#
# The way in is examples/vm's: its answer file, and playbooks/files/bootstrap-ssh.ps1. docs/image.md says what else is needed.
packer {
  required_plugins {
    qemu = {
      source  = "github.com/hashicorp/qemu"
      version = ">= 1.1.0"
    }
    ansible = {
      source  = "github.com/hashicorp/ansible"
      version = ">= 1.1.4"
    }
  }
}

variable "iso" {
  type        = string
  description = "The evaluation ISO of Windows Server 2022, a file or an address."
}

variable "iso_checksum" {
  type        = string
  default     = "none"
  description = "sha256:... of the ISO. Microsoft publishes none for evaluations."
}

variable "key" {
  type        = string
  description = "Your SSH key; the file beside it that ends in .pub is let in, on the nodes as well."
}

variable "password" {
  type        = string
  sensitive   = true
  description = "Administrator's, while the image is built and on the nodes, until somebody changes it."
}

variable "firmware" {
  type        = list(string)
  default     = ["/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"]
  description = "UEFI, which the partitions of the answer file want; here Debian's package ovmf."
}

locals {
  answers = replace(file("${path.root}/../vm/autounattend.xml"), "@PASSWORD@", var.password)
}

source "qemu" "node" {
  vm_name           = "windows-node.qcow2"
  output_directory  = "${path.root}/output"
  iso_url           = var.iso
  iso_checksum      = var.iso_checksum
  accelerator       = "kvm"
  cpus              = 4
  memory            = 8192
  disk_size         = "60G"
  format            = "qcow2"
  headless          = true
  efi_boot          = true
  efi_firmware_code = var.firmware[0]
  efi_firmware_vars = var.firmware[1]
  machine_type      = "q35"

  # Windows brings drivers for these. For virtio add its ISO, and its drivers before sysprep.
  disk_interface = "sata"
  net_device     = "e1000e"

  # UEFI boots a CD of Windows only if a key is pressed within some seconds.
  boot_wait    = "1s"
  boot_command = ["<spacebar><wait><spacebar><wait><spacebar><wait><spacebar><wait><spacebar><wait><spacebar>"]

  cd_label = "ANSWERS"
  cd_files = ["${path.root}/../../playbooks/files/bootstrap-ssh.ps1"]
  cd_content = {
    "autounattend.xml" = replace(local.answers, "@NAME@", "build")
    "winkube.pub"      = file("${var.key}.pub")
  }

  communicator         = "ssh"
  ssh_username         = "Administrator"
  ssh_private_key_file = var.key
  ssh_timeout          = "2h"

  # Sysprep switches the machine off.
  shutdown_command = "powershell -NoProfile -ExecutionPolicy Bypass -File C:/Windows/Temp/generalise.ps1 -Unattend C:/Windows/Temp/unattend.xml -ModeVm"
  shutdown_timeout = "45m"
}

build {
  sources = ["source.qemu.node"]

  provisioner "ansible" {
    playbook_file = "${path.root}/image.yml"
    groups        = ["windows_nodes"]
    user          = "Administrator"
    # Straight to the machine: the modules keep their connection, and find it again after a restart.
    use_proxy = false
    # The machine was made a moment ago, and is reached over a port of this host alone.
    ansible_env_vars = ["ANSIBLE_HOST_KEY_CHECKING=False"]
    extra_arguments = [
      "-e", "ansible_shell_type=powershell",
      "-e", "ansible_ssh_private_key_file=${var.key}",
      "-e", "@${path.root}/variables.yml",
    ]
  }

  provisioner "file" {
    source      = "${path.root}/../../playbooks/files/generalise.ps1"
    destination = "C:/Windows/Temp/generalise.ps1"
  }

  # The same answers for the nodes, each under a name of its own. In a cloud Cloudbase-Init's take their place.
  provisioner "file" {
    content     = replace(local.answers, "@NAME@", "*")
    destination = "C:/Windows/Temp/unattend.xml"
  }
}
