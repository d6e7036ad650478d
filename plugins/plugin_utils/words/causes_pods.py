# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What logs alone tell of images and containers."""

from __future__ import annotations

from .cause import WARNING, Cause
from .logged import logged
from .remedies import advice, converge, playbook
from .remedy import Ends

CAUSES: tuple[Cause, ...] = (
    logged(
        "image.mismatch",
        "An image is for another Windows",
        "A process isolated container needs an image of the host's build; often it is the pause image.",
        converge(
            "containerd",
            text=(
                "Choose a tag of the workload's image for this build; for the pause image set sandbox_image "
                "(pinned_images.sandbox) of config.toml to one from 3.6 on, which has all builds."
            ),
            variables=("winkube_pause_image",),
        ),
    ),
    logged(
        "image.platform",
        "An image has no variant for this Windows",
        "Its manifest has no entry for windows/amd64 of this build: it is a Linux image, or of another "
        "release of Windows.",
        "Give Linux pods kubernetes.io/os: linux as nodeSelector; choose a tag of the image for this build.",
    ),
    logged(
        "image.pause",
        "The sandbox image cannot be had",
        "containerd has another name or registry in sandbox_image (pinned_images) than this node can reach.",
        converge(
            "containerd",
            text=(
                "Look whether the node reaches the registry, also through its proxy; set sandbox_image "
                "(pinned_images.sandbox) of config.toml to your mirror's."
            ),
            variables=("winkube_pause_image",),
        ),
    ),
    logged(
        "container.exited",
        "A container ended while it started",
        "Its image or Windows is damaged, an antivirus holds its files, memory is short, a volume lies "
        "over a folder that has files, or the host's "
        "update needs a restart.",
        advice(
            (
                "Restart a machine that waits for it; exclude containerd's root from scans; try another image "
                "to tell which it is."
            ),
            Ends.MACHINE,
        ),
    ),
    logged(
        "container.timeout",
        "HCS did not finish in time",
        "The machine is short of CPU, memory or disk, or the service vmcompute hangs.",
        advice(
            "Look at load and disk; restart vmcompute with the node drained, or the machine.", Ends.PODS, Ends.MACHINE
        ),
    ),
    logged(
        "container.unknown",
        "HCS does not know the container",
        "It ended, or is just starting, while a program asks about it; harmless when it comes once, a hanging "
        "vmcompute when it goes on.",
        advice("If it goes on: drain the node and restart the machine.", Ends.PODS, Ends.MACHINE),
        severity=WARNING,
    ),
    logged(
        "container.no-hyper-v",
        "Hyper-V isolation is asked for and not there",
        "The feature Hyper-V is not installed, or the virtual machine may not nest.",
        "Use a process isolated RuntimeClass, or install Hyper-V and expose virtualization extensions to the machine.",
    ),
    logged(
        "image.layer",
        "A layer of an image cannot be used",
        "Its unpacking was interrupted, a filter of the file system (an antivirus, a cloud drive) holds or removed "
        "files, or containerd lacks a privilege.",
        "Remove the image (crictl rmi) and pull it again; exclude containerd's root from scans; run "
        "containerd as LocalSystem.",
    ),
    logged(
        "container.command",
        "A container's command is not in its image",
        "The path or the name of the program is wrong for this image, or its folder is not in PATH.",
        "Correct command and args of the workload; nanoserver has no PowerShell.",
        severity=WARNING,
    ),
    logged(
        "container.runtime-class",
        "containerd has no runtime of that name",
        "A RuntimeClass names a handler that config.toml does not have.",
        converge(
            "containerd",
            text=(
                "Correct the RuntimeClass's handler, or give config.toml a runtime of that name below "
                "containerd.runtimes."
            ),
            variables=("winkube_containerd_config_template",),
        ),
    ),
    logged(
        "container.no-shim",
        "containerd's shim is not there",
        "containerd-shim-runhcs-v1.exe is not beside containerd.exe nor in PATH.",
        converge("containerd", text="Put containerd-shim-runhcs-v1.exe of the same release beside containerd.exe."),
    ),
    logged(
        "image.registry-unreachable",
        "A registry cannot be reached",
        "DNS, firewall, proxy or its certificate.",
        converge(
            "containerd",
            text=(
                "Try it on the node (curl.exe -v https://REGISTRY/v2/); give containerd's service HTTPS_PROXY, "
                "or a mirror in hosts.toml."
            ),
            variables=("winkube_http_proxy",),
        ),
    ),
    logged(
        "image.registry-certificate",
        "A registry's certificate is not trusted",
        "It is of a CA that Windows does not know (a registry of your own, a proxy that opens TLS), has run out, or is "
        "for another name.",
        "Add the CA to the machine's root certificates or to the registry's hosts.toml (ca); compare the name and the "
        "clock.",
    ),
    logged(
        "image.missing",
        "The registry has no such image",
        "Name or tag are wrong, or the mirror has not copied it.",
        "crictl pull IMAGE on the node; look for the tag in the registry.",
        severity=WARNING,
    ),
    logged(
        "image.registry-denied",
        "A registry refuses the pull",
        "No or wrong credentials, a name that does not exist, or a rate limit.",
        "Check imagePullSecrets and the image's name.",
        severity=WARNING,
    ),
    logged(
        "container.slow",
        "A sandbox is still being made when kubelet asks again",
        "Making it takes longer than kubelet waits: slow disk, antivirus, a hanging CNI plugin or HCS.",
        "Exclude containerd's root and the plugins from scans; look at what the first attempt waits for.",
        severity=WARNING,
    ),
    logged(
        "container.host-process-mixed",
        "A pod mixes host process and ordinary containers",
        "All containers of a pod have to be of one kind.",
        "Set hostProcess for the whole pod, or for none of it.",
        severity=WARNING,
    ),
    logged(
        "container.linux-pod",
        "A Linux pod came to this node",
        "A DaemonSet without a nodeSelector for its system runs everywhere. Under Docker a pod for Windows with "
        "hostNetwork fails in the same way while there is no network host.",
        playbook(
            (
                "Give it nodeSelector kubernetes.io/os: linux. A pod for Windows under Docker: docker network "
                "create -d nat host."
            ),
            "scheduling",
        ),
        severity=WARNING,
    ),
    logged(
        "container.linux-user",
        "A pod asks for a Linux user",
        "runAsUser or fsGroup make kubelet change the owner of the token's file, which Windows cannot: the pod was "
        "written for Linux.",
        "Give the workload kubernetes.io/os: linux, or take runAsUser and fsGroup away and set "
        "windowsOptions.runAsUserName.",
        severity=WARNING,
    ),
    logged(
        "container.host-process-account",
        "A host process container cannot log its user on",
        "containerd runs under a user's account, which may not log on service accounts.",
        converge(
            "containerd",
            text="Run containerd as LocalSystem (sc.exe config containerd obj= LocalSystem), and restart it.",
        ),
    ),
    logged(
        "container.mount-refused",
        "HCS refuses a folder of the container",
        "A mount's source is a file or not there, its target cannot be a folder on Windows, or Windows lacks the "
        "updates for mounts (Server 2019 before September 2020).",
        "Compare the pod's volumeMounts and workingDir with what is there; install the newest cumulative update.",
    ),
    logged(
        "container.access-denied",
        "Access to containers' files is denied",
        "An antivirus or a backup holds the layers, the ACL of the runtime's root was changed, or a mount leads to a "
        "folder that SYSTEM may not read.",
        (
            "Exclude containerd's root from scans (Add-MpPreference -ExclusionPath "
            "C:\\ProgramData\\containerd); compare its ACL with a healthy node's (icacls)."
        ),
    ),
    logged(
        "container.user",
        "A container's user is not known or may not log on",
        "runAsUserName, or a runAsUser that was meant for Linux, names a user that the image, or for a host process "
        "container the host, does not have or does not let log on.",
        "Use ContainerUser or ContainerAdministrator; for host process NT AUTHORITY\\SYSTEM, or make the group first.",
        severity=WARNING,
    ),
    logged(
        "container.gmsa",
        "A container gets no gMSA",
        "The credential spec is missing, or the host (or its plugin) may not read the account's password.",
        (
            "Test-ADServiceAccount on the node says whether the host may read the password: put it into the "
            "group that PrincipalsAllowedToRetrieveManagedPassword names; kubectl get gmsacredentialspec "
            "shows the spec."
        ),
        severity=WARNING,
    ),
    logged(
        "container.gmsa-domain",
        "The domain of a gMSA is not reached",
        "No domain controller answers the node or the container, the node has lost its trust, or the credential spec "
        "names another domain.",
        "nltest /sc_verify:DOMAIN and Test-ADServiceAccount on the node; look at the node's DNS and at the ports of "
        "the "
        "domain controllers.",
        severity=WARNING,
    ),
    logged(
        "container.dll-missing",
        "A program in an image lacks a DLL",
        "Exit status 0xC0000135: it needs a library that its base image does not have (Visual C++, or all that "
        "nanoserver leaves out).",
        "Take servercore as base, or add the library to the image.",
        severity=WARNING,
    ),
    logged(
        "container.pipe-mount",
        "containerd cannot mount a named pipe",
        "It was given a pipe as hostPath; releases before 1.4.1 open it like a file; or it is mounted readOnly, which "
        "a pipe cannot be.",
        "Install a newer containerd; look whether who serves the pipe runs.",
    ),
    logged(
        "container.csi-proxy",
        "A CSI driver does not reach csi-proxy",
        "csi-proxy does not run on the node, or is of another release than the version in the pipe's name.",
        converge(
            "csi_proxy",
            text=(
                "Start-Service csi-proxy on the node; take a driver for its API's version, or one of host "
                "process containers, which needs none."
            ),
        ),
    ),
    logged(
        "container.csi-driver",
        "A CSI driver is not on this node",
        "Its DaemonSet for Windows was not deployed, or its pod or registrar does not run here.",
        "kubectl get pods -A -o wide for this node; deploy the driver's node plugin for Windows.",
        severity=WARNING,
    ),
    logged(
        "container.wins",
        "A pod does not reach wins on the host",
        "The manifest is of the time before host process containers: it starts programs by rancher-wins' pipe, which "
        "is not served.",
        "Use the manifests for host process containers, or programs that run as services, in place of wins.",
        severity=WARNING,
    ),
    logged(
        "image.damaged",
        "What was pulled is not what the manifest says",
        "A layer came shortened or changed: a proxy or a mirror that cuts downloads, a broken push, a disk that is "
        "full, or content that containerd lost.",
        "Remove the image and its content (crictl rmi IMAGE), pull again without the proxy or mirror; push the image "
        "again if its digest stays wrong.",
    ),
    logged(
        "image.registry-error",
        "A registry answers with an error of its own",
        "It is overloaded, is being maintained, or has lost the image's content (5xx, unknown blob).",
        "Pull later, or from another mirror; look at the registry's status and log.",
        severity=WARNING,
    ),
    logged(
        "image.registry-http",
        "A registry speaks HTTP, and containerd wants HTTPS",
        "A registry without TLS is allowed in its hosts.toml only.",
        'Write server = "http://REGISTRY" into hosts.toml below the certs.d of containerd, or give it a certificate.',
        severity=WARNING,
    ),
    logged(
        "image.name",
        "The name of an image is not valid",
        "It has upper case, a blank, a template that was not filled in, or no form NAME[:TAG][@DIGEST].",
        "Correct the image in the workload: kubectl describe pod shows it as kubelet got it.",
        severity=WARNING,
    ),
    logged(
        "image.form",
        "An image is of a form that containerd does not take",
        "Its manifest is of schema 1, of an artifact that is not an image, or compressed or encrypted as this "
        "release does not know.",
        "Build and push it with a current tool, or take a newer containerd.",
    ),
    logged(
        "image.credentials",
        "A credential provider does not give credentials",
        "kubelet starts a program for this registry, which is missing, fails, or has no identity of the cloud.",
        "Run the program of imageCredentialProviderBinDir by hand on the node; compare its name with the "
        "CredentialProviderConfig.",
    ),
    logged(
        "container.in-use",
        "A file or layer of a container is held by another program",
        "An antivirus, a backup or a container that has not ended holds it: HCS says that the resource is in use.",
        advice(
            (
                "Exclude containerd's root from scans (Add-MpPreference -ExclusionPath "
                "C:\\ProgramData\\containerd); look for containers that do not end (hcsdiag list), end them; "
                "restart the machine if that does not help."
            ),
            Ends.PODS,
            Ends.MACHINE,
        ),
    ),
    logged(
        "container.id-exists",
        "A container of this id is left from before",
        "HCS or the shim still has it, since its end was not seen: containerd or the machine went down meanwhile.",
        advice("hcsdiag list shows it; hcsdiag kill ID ends it; then delete the pod.", Ends.PODS),
    ),
    logged(
        "container.parameter",
        "HCS does not take the description of the container",
        "The image is newer than the host or its Hyper-V, a mount or a device has a form that this build does not "
        "know, or the runtime is too old for the host.",
        "Compare the image's build with the host's; start it without mounts, devices and limits to find which it is; "
        "install the newest cumulative update.",
    ),
    logged(
        "container.crashed",
        "A program in a container crashed",
        "Its exit status is one of Windows' exceptions (access violation, stack, heap, illegal instruction): a fault "
        "of the program, of its base image, or of an antivirus inside of its process.",
        "Look at the container's own log; run the image with another command; take the newest base image of the host's"
        " build; exclude containerd's root from scans.",
        severity=WARNING,
    ),
    logged(
        "container.shim",
        "A container's shim ended or does not answer",
        "containerd speaks with each pod by a shim process: it was killed (memory, antivirus, an update of containerd "
        "in use), or crashed.",
        advice(
            (
                "Look for containerd-shim-runhcs-v1.exe in the Application event log; delete the pod; after "
                "containerd was replaced, drain the node and restart it."
            ),
            Ends.PODS,
            Ends.MACHINE,
        ),
    ),
    logged(
        "container.scratch",
        "The writable layer of a container cannot be made or grown",
        "Its VHD was not created, attached or grown: the drive is full, the size asked for is too small, or another "
        "program holds the file.",
        "Look at the drive's free space and at the scratch size that is asked for (storage-opt size, containerd's "
        "default_size); exclude containerd's root from scans.",
    ),
    logged(
        "container.utility-vm",
        "The virtual machine of a Hyper-V isolated pod does not start",
        "Its memory is not there, its image (UtilityVM) is missing in the base layer, or nested virtualization is off.",
        "Look at the event log Microsoft-Windows-Hyper-V-Worker-Admin; pull the base image again; compare free memory "
        "with the pod's limit.",
    ),
    logged(
        "container.memory",
        "A container ran out of its memory",
        "The limit is a job object's: the program got no more memory, or kubelet's status says OOMKilled. On Windows "
        "the limit counts committed memory.",
        "Raise resources.limits.memory, or limit the program's own heap (.NET, Java).",
        severity=WARNING,
    ),
    logged(
        "pod.no-node",
        "No node takes the pod",
        "The scheduler names why: too little of a resource, a taint that is not tolerated, a nodeSelector or an "
        "affinity that no node has, no free address of the cloud.",
        (
            "Compare the pod's requests, tolerations and nodeSelector (kubernetes.io/os: windows) with "
            "kubectl describe node."
        ),
        severity=WARNING,
    ),
    logged(
        "pod.invalid",
        "The API server does not take the manifest",
        "A field has a value that is not allowed, or one that Windows pods must not have.",
        "Mend the field that the message names; kubectl apply --dry-run=server tells of the next one, if there is one.",
        severity=WARNING,
    ),
    logged(
        "pod.probe",
        "A probe of a container fails",
        "Its program does not answer at that port or path in time: it has not started yet (large images on Windows "
        "take long), listens elsewhere, or the node is short of CPU.",
        "kubectl logs and kubectl exec show what the program does; give initialDelaySeconds, timeoutSeconds or a "
        "startupProbe more time.",
        severity=WARNING,
    ),
    logged(
        "pod.not-running",
        "The container is not there any more",
        "It has ended, or was restarted, while logs, exec or attach asked for it.",
        "kubectl get pod shows its state; kubectl logs --previous has the log of the one before.",
        severity=WARNING,
    ),
    logged(
        "pod.hook",
        "A lifecycle hook of a container fails",
        "The command or the address of postStart or preStop does not work in this container.",
        "Run the same command with kubectl exec; on Windows name the shell (cmd, powershell) in the command.",
        severity=WARNING,
    ),
    logged(
        "pod.not-admitted",
        "kubelet does not admit the pod to its node",
        "CPU or memory manager, topology, ports or the pod's own demands do not fit what the node has left.",
        "kubectl describe pod has the reason; free what the line names, or let the pod go to another node.",
        severity=WARNING,
    ),
    logged(
        "pod.stream",
        "The stream of exec, attach, logs or port-forward broke",
        "What stands between (a load balancer, a proxy, a tunnel) closes idle or upgraded connections, or kubelet and "
        "the runtime do not speak the same protocol.",
        "Try it on a control plane node; raise the idle timeout of the load balancer; let the proxy pass upgrades "
        "(SPDY, WebSocket).",
    ),
    logged(
        "image.pull",
        "An image cannot be pulled",
        "The registry's or the unpacking's own reason stands at the end of the line.",
        "Pull it on the node to see the whole answer: crictl pull IMAGE.",
        severity=WARNING,
    ),
    logged(
        "container.volume",
        "A volume cannot be mounted",
        "The driver's own reason stands at the end of the line.",
        "Look whether csi-proxy runs and at the driver's pod on this node; for a ConfigMap or a Secret, whether it is "
        "there.",
        severity=WARNING,
    ),
    logged(
        "container.refused",
        "HCS refuses a container",
        "Windows' own reason stands at the end of the line.",
        "Look at the event log Microsoft-Windows-Hyper-V-Compute-Admin at that time; try the image with another "
        "command to tell the image from the host.",
        severity=WARNING,
    ),
)
