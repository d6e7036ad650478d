"""What was mended in PowerShell stays mended: where no PowerShell runs, each mend has a rule on its function's code.

A rule is what the function has to say, in this order, comments apart. `test_a_mend_that_is_taken_out_is_noticed` takes
each piece out of the real file and wants a finding.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from tests.unit.powershell.source import FOLDER, Source, read, text, walk


@dataclass(frozen=True)
class Mend:
    """`says`: patterns, one behind the other; `why`: what goes wrong without them."""

    name: str
    file: str
    function: str
    says: tuple[str, ...]
    why: str


MENDS = (
    Mend(
        "a port that has to be closed",
        "runner/60_wait.ps1",
        "Test-NodeWaited",
        (
            r"'tcp_closed' \{",
            r"Test-NodeTcp",
            r"so = \[bool\]\(-not \$found\['so'\] -and -not \$found\['unresolved'\]\)",
        ),
        "a port that takes connections counts as closed, and one of a name that nothing answers for, too",
    ),
    Mend(
        "owner by icacls",
        "shared/security.ps1",
        "Set-NodeOwner",
        (r"\\icacls\.exe'", r"/setowner \*' \+ \$Sid", r"/L /Q'", r"ExitCode -ne 0", r"throw"),
        ".NET does not enable SeRestorePrivilege, without which no foreign owner is taken",
    ),
    Mend(
        "a folder's last backslash before a quotation mark",
        "shared/security.ps1",
        "Set-NodeOwner",
        (r"EndsWith\('\\'\)", r"\$quoted = \$Path \+ '\\'", r"'\"' \+ \$quoted \+ '\""),
        "icacls takes the mark for a part of the path",
    ),
    Mend(
        "the list before the owner",
        "shared/security.ps1",
        "Set-NodeSddl",
        (
            r"-isnot \[System\.InvalidOperationException\] -and \$\w+ -isnot \[System\.UnauthorizedAccessException\]",
            r"Get-NodeSectionButOwner",
            r"Write-NodeSecurity .*-Sections \$rest",
            r"Set-NodeOwner -Path \$Path -Sid",
        ),
        "who is the owner no more may not write the DACL",
    ),
    Mend(
        "access lists on PowerShell 7",
        "shared/security.ps1",
        "Write-NodeSecurity",
        (
            r"PSVersion\.Major -ge 6",
            r"\[System\.IO\.FileSystemAclExtensions\]::SetAccessControl\(",
            r"else",
            r"\$item\.SetAccessControl\(",
        ),
        "SetAccessControl is an extension method there, which PowerShell does not find on the object",
    ),
    Mend(
        "typographic quotes in the task's command",
        "shared/task.ps1",
        "Get-NodeTaskCommand",
        (r"0x27, 0x2018, 0x2019, 0x201A, 0x201B", r"Replace\(\$quote, \$quote \+ \$quote\)", r"\$folder = '\$folder'"),
        "PowerShell takes U+2018 to U+201B for an apostrophe, and SYSTEM runs what follows",
    ),
    Mend(
        "sha256 under the FIPS policy",
        "shared/files.ps1",
        "Get-NodeStreamHash",
        (r"PSVersion\.Major -ge 6", r"SHA256\]::Create\(\)", r"else", r"SHA256CryptoServiceProvider"),
        ".NET Framework refuses the managed class that Create gives",
    ),
    Mend(
        "a file that is held for a moment",
        "shared/files.ps1",
        "Invoke-NodeRetry",
        (
            r"while \(\$true\)",
            r"Get-NodeErrorCode",
            r"@\(5, 32, 33, 145, 1175, 1176, 1177\) -notcontains \$code -or \$watch\.ElapsedMilliseconds -ge \$WaitMs",
            r"Sleep\(\d+\)",
        ),
        "a virus scanner holds a new file for a second; a full disk (112) is told at once",
    ),
    Mend(
        "replacing keeps the old file",
        "shared/files.ps1",
        "Move-NodeFileIn",
        (
            r"Clear-NodeReplaced -Path \$Path",
            r"Clear-NodeReadOnly -Path \$Path",
            r"\[System\.IO\.File\]::Replace\(\$Source, \$Path, \$old\)",
            r"Invoke-NodeRetry -Block \$block",
            r"Clear-NodeReplaced -Path \$Path",
        ),
        "ReplaceFile without a name for the old file can lose both",
    ),
    Mend(
        "TLS 1.2",
        "shared/files.ps1",
        "Set-NodeTls",
        (r"PSVersion\.Major -lt 6", r"\$present -ne 0", r"SecurityProtocol = \$present -bor 3072"),
        "Windows PowerShell's .NET may offer TLS 1.0 alone; 0 leaves the choice to Windows",
    ),
    Mend(
        "a proxy after UseProxy",
        "runner/30_fetch.ps1",
        "New-NodeHttpClient",
        (r"UseProxy = \$false", r"UseProxy = \$true", r"\.Proxy = \$webProxy"),
        ".NET Framework refuses a proxy while none is used",
    ),
    Mend(
        "adapters that come and go",
        "shared/network.ps1",
        "Get-NodeInterface",
        (r"while \(\$true\)", r"try", r"GetAllNetworkInterfaces\(\)", r"catch", r"-ge \$PatienceS", r"Sleep\(\d+\)"),
        ".NET throws for the whole list while one adapter is half made",
    ),
    Mend(
        "another case of a folder's name",
        "runner/20_files.ps1",
        "Rename-NodeCase",
        (
            r"\[System\.IO\.Directory\]::Move\(\$source, \$Between\)",
            r"\[System\.IO\.Directory\]::Move\(\$Between, \$Path\)",
        ),
        ".NET Framework does not move a folder to its own name",
    ),
    Mend(
        "access denied to a folder",
        "runner/20_files.ps1",
        "Remove-NodeEmptyFolder",
        (r"-eq -2146232800", r"UnauthorizedAccessException"),
        ".NET throws a bare IOException, which Invoke-NodeRetry does not know for 5",
    ),
    Mend(
        "long paths of every op",
        "runner/70_ops.ps1",
        "Get-NodeOpArguments",
        (
            r"@\('path', 'backup', 'base', 'archive', 'destination', 'log'\)",
            r"Get-NodeLongPath -Path \$map",
            r"'delta'",
        ),
        "an op on a path over 260 characters fails on .NET Framework",
    ),
    Mend(
        "long paths of queries",
        "shared/reading.ps1",
        "Read-NodeFile",
        (r"\$path = Get-NodeLongPath -Path \(\[string\]\$Query", r"Get-NodeHolder -Path \(\[string\]\$Query"),
        "on .NET Framework what an op has put there is not there; Windows names a module without the mark",
    ),
    Mend(
        "a certificate's long path",
        "shared/reading.ps1",
        "Read-NodeCertificate",
        (r"Read-NodeText -Path \(Get-NodeLongPath -Path \$Path\)",),
        ".NET Framework says of it that it does not exist",
    ),
    Mend(
        "a long path that is downloaded from",
        "runner/30_fetch.ps1",
        "Invoke-NodeOpFetch",
        (r"\$source = Get-NodeLongPath -Path \$address\.LocalPath", r"Copy-NodeFile -Source \$source"),
        ".NET Framework says of it that it does not exist",
    ),
    Mend(
        "the root of a drive that a long path is moved to",
        "runner/20_files.ps1",
        "Invoke-NodeOpMove",
        (r"(?m)\$folder = Get-NodeLongPath -Path \$folder$",),
        "with the mark and without its last separator it is a device, whose attributes Windows does not tell",
    ),
    Mend(
        "what is deleted while somebody reads it",
        "runner/20_files.ps1",
        "Remove-NodeEntry",
        (r"\$InUseOk -and @\(5, 32, 33, 145\) -contains",),
        "its folder is not empty before he closes it, which in_use_ok allows",
    ),
    Mend(
        "an access list as it was asked for",
        "shared/security.ps1",
        "ConvertTo-NodePlainSddl",
        (r"D:P\?\)\(\?:AI\|AR\)\+', '\$1'", r"\*ID\("),
        "Windows gives D:P back as D:PAI, and with what is inherited: it would be written again at each run",
    ),
    Mend(
        "Path beside PATH",
        "runner/10_process.ps1",
        "Merge-NodeTwinName",
        (r"\.ContainsKey\(\$name\)", r"\[NullString\]::Value", r"SetEnvironmentVariable\(\$name, \$value\)"),
        "EnvironmentVariables of .NET Framework throws for an environment with both",
    ),
    Mend(
        "Path beside PATH, before it is asked for",
        "runner/10_process.ps1",
        "Invoke-NodeProgram",
        (r"Merge-NodeTwinName", r"\$given\.ContainsKey\(\$name\)", r"throw", r"\$info\.EnvironmentVariables"),
        "EnvironmentVariables of .NET Framework throws for an environment with both",
    ),
    Mend(
        "long paths",
        "shared/files.ps1",
        "Get-NodeLongPath",
        (r"\$Path\.Length -lt 240 -and \$Length -lt 240", r"return '\\\\\?\\' \+ \$Path"),
        ".NET Framework says of a path over 260 characters that it does not exist",
    ),
    Mend(
        "a state folder in which a runner works",
        "shared/state.ps1",
        "Find-NodeForeignEntry",
        (
            r"try",
            r"GetFileSystemEntries",
            r"catch",
            r"Get-NodeFileKind -Path \$Folder\) -ceq 'absent'",
            r"Get-NodeOwner",
            r"catch",
            r"Get-NodeFileKind -Path \$entry\) -ceq 'absent'",
            r"throw \$failure",
        ),
        "a file that the runner has deleted since it was listed would end each call that follows it",
    ),
    Mend(
        "a link to nothing among programs",
        "shared/reading.ps1",
        "Read-NodeInside",
        (r"\$sddl = 'link'", r"Get-NodeFileKind -Path \$whole\) -cne 'link'", r"Get-NodeSddl -Path \$whole"),
        "the security of what is not there cannot be read, and the whole folder would not be told",
    ),
    Mend(
        "a long name in a folder of programs",
        "shared/reading.ps1",
        "Read-NodeInside",
        (r"\$whole = Get-NodeLongPath -Path \$path", r"Get-NodeFileKind -Path \$whole"),
        "Windows PowerShell says of 260 characters that nothing is there, and the whole folder would not be told",
    ),
    Mend(
        "a long place for a member of an archive",
        "runner/40_archive.ps1",
        "Select-NodeMember",
        (
            r"\$root = \$Destination\.TrimEnd",
            r"\[/\\\\ \.\]\(\[/\\\\\]\|\$\)",
            r"\$path = Get-NodeLongPath -Path \(\$root",
        ),
        "GetFullPath of .NET Framework refuses 260 characters; `.. ` is a way up once Windows has left the blank out",
    ),
    Mend(
        "what a full disk has left of a file",
        "shared/files.ps1",
        "Write-NodeFile",
        (
            r"\.Flush\(\$true\)",
            r"catch",
            r"Close-NodeFileQuietly -File \$stream",
            r"Remove-NodeFileQuietly -Path \$fresh",
        ),
        "Dispose writes once more what Flush could not, and throws: the file would stay, with what is secret in it",
    ),
    Mend(
        "what a full disk has left of a file that was sent",
        "host_process.ps1",
        "Write-NodeFileFrom",
        (
            r"\.Flush\(\$true\)",
            r"catch",
            r"Close-NodeFileQuietly -File \$file",
            r"Remove-NodeFileQuietly -Path \$fresh",
        ),
        "Dispose writes once more what Flush could not, and throws: the file would stay, with what is secret in it",
    ),
    Mend(
        "both outputs of a program",
        "runner/10_process.ps1",
        "Invoke-NodeProgram",
        (
            r"StandardOutput\.BaseStream\.CopyToAsync",
            r"StandardError\.BaseStream\.CopyToAsync",
            r"WriteAsync",
            r"WaitForExit",
        ),
        "a full pipe stops the program, and a program that does not read stops who writes to it",
    ),
)


def said(source: Source, function: str) -> str:
    """The function's code without comments; empty if there is no such function."""
    node = next((one.node for one in source.functions if one.name == function), None)
    if node is None:
        return ""
    code = bytearray(source.data[node.start_byte : node.end_byte])
    for found in walk(node):
        if found.type == "comment":
            start, end = found.start_byte - node.start_byte, found.end_byte - node.start_byte
            code[start:end] = b" " * len(text(found).encode())
    return code.decode()


def findings(code: str, mend: Mend) -> list[str]:
    at = 0
    for pattern in mend.says:
        found = re.compile(pattern).search(code, at)
        if found is None:
            return [f"{mend.file}: {mend.function} does not say {pattern!r} (in this place): {mend.why}."]
        at = found.end()
    return []


@pytest.mark.parametrize("mend", MENDS, ids=lambda mend: mend.name.replace(" ", "-"))
def test_the_mend_is_there(mend: Mend) -> None:
    assert findings(said(read(FOLDER / mend.file), mend.function), mend) == []


@pytest.mark.parametrize("mend", MENDS, ids=lambda mend: mend.name.replace(" ", "-"))
def test_a_mend_that_is_taken_out_or_commented_out_is_noticed(mend: Mend) -> None:
    source = read(FOLDER / mend.file)
    code = said(source, mend.function)
    for pattern in mend.says:
        assert findings(re.sub(pattern, "", code), mend), pattern
    off = re.sub(r"(?m)^", "# ", source.data.decode())
    assert findings(said(Source(source.name, off.encode()), mend.function), mend)
