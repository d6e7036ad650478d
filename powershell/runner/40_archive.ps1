# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Archives: chosen members of a zip or a tar.gz.
#
# tar.gz is read here, not by tar.exe: Windows Server before 2019 has none, what it refuses differs by its version, its listing is
# text in the machine's language and code page, and it writes links and odd names before anybody can look at them. Reading ustar, pax
# and GNU long names takes some hundred lines, and nothing is written before every entry has been seen.

function Test-NodeEscape {
    <# .SYNOPSIS Whether a name in an archive would lead out of the folder it is unpacked into. #>
    param([string]$Name)

    $text = $Name.Replace('\', '/')
    if ($text.StartsWith('/', [System.StringComparison]::Ordinal) -or $text -match '^[A-Za-z]:') {
        return $true
    }
    return [bool]($text.Split([char]47) -ccontains '..')
}

function Get-NodeMemberName {
    <# .SYNOPSIS A member's name as it is compared: forward slashes, no ./ in front. #>
    param([string]$Name)

    $text = $Name.Replace('\', '/')
    while ($text.StartsWith('./', [System.StringComparison]::Ordinal)) {
        $text = $text.Substring(2)
    }
    return $text
}

function Skip-NodeStream {
    <# .SYNOPSIS Reads on by Count bytes, into a file if one is given; throws if the source ends before. #>
    param([hashtable]$Source, [int64]$Count, [System.IO.Stream]$Target = $null)

    if ($Count -le 0) {
        return
    }
    [byte[]]$buffer = New-Object 'byte[]' ([int][System.Math]::Min([int64]1048576, $Count))
    $left = $Count
    while ($left -gt 0) {
        $read = Read-NodeUnpacked -Source $Source -Buffer $buffer -Offset 0 -Count ([int][System.Math]::Min([int64]$buffer.Length, [int64]$left))
        if ($read -eq 0) {
            throw 'it ends in the middle of a file'
        }
        if ($null -ne $Target) {
            $Target.Write($buffer, 0, $read)
        }
        $left -= $read
    }
}

function Get-NodeTarText {
    <# .SYNOPSIS A text field of a tar header, up to its first zero byte. #>
    param([byte[]]$Header, [int]$Start, [int]$Length)

    $end = $Start
    while ($end -lt $Start + $Length -and $Header[$end] -ne 0) {
        $end++
    }
    return [System.Text.Encoding]::UTF8.GetString($Header, $Start, $end - $Start)
}

function Get-NodeTarNumber {
    <# .SYNOPSIS A number field of a tar header: octal text, or base 256 if its first bit is set (GNU, sizes from 8 GB). #>
    param([byte[]]$Header, [int]$Start, [int]$Length)

    $number = [int64]0
    if ($Header[$Start] -ge 128) {
        for ($index = $Start + 4; $index -lt $Start + $Length; $index++) {
            $number = $number * 256 + $Header[$index]
        }
        return $number
    }
    $text = (Get-NodeTarText -Header $Header -Start $Start -Length $Length).Trim()
    foreach ($char in $text.ToCharArray()) {
        $digit = [int]$char - 48
        if ($digit -lt 0 -or $digit -gt 7) {
            throw 'a header of it is damaged'
        }
        $number = $number * 8 + $digit
    }
    return $number
}

function Test-NodeTarHeader {
    <# .SYNOPSIS Whether the sum of a tar header's bytes is the one it states. #>
    param([byte[]]$Header)

    $sum = 0
    for ($index = 0; $index -lt 512; $index++) {
        if ($index -ge 148 -and $index -lt 156) {
            $sum += 32
        }
        else {
            $sum += $Header[$index]
        }
    }
    return [bool]($sum -eq (Get-NodeTarNumber -Header $Header -Start 148 -Length 8))
}

function Get-NodePaxTable {
    <# .SYNOPSIS The records `length key=value` of a pax header. #>
    param([byte[]]$Bytes)

    $table = New-NodeMap
    $position = 0
    while ($position -lt $Bytes.Length -and $Bytes[$position] -ne 0) {
        $blank = [System.Array]::IndexOf($Bytes, [byte]32, $position)
        if ($blank -lt 0) {
            break
        }
        $length = [int][System.Text.Encoding]::ASCII.GetString($Bytes, $position, $blank - $position)
        if ($length -le ($blank - $position + 1) -or $position + $length -gt $Bytes.Length) {
            throw 'a header of it is damaged'
        }
        $record = [System.Text.Encoding]::UTF8.GetString($Bytes, $blank + 1, $position + $length - $blank - 2)
        $equals = $record.IndexOf('=')
        if ($equals -gt 0) {
            $table[$record.Substring(0, $equals)] = $record.Substring($equals + 1)
        }
        $position += $length
    }
    return $table
}

function Read-NodeTarBlock {
    <# .SYNOPSIS The content of a small entry (a long name, pax records) with its padding read away. #>
    param([hashtable]$Source, [int64]$Size)

    if ($Size -gt 1048576) {
        throw 'a header of it is larger than 1 MB'
    }
    [byte[]]$bytes = New-Object 'byte[]' ([int]$Size)
    if ((Read-NodeExact -Source $Source -Buffer $bytes -Count ([int]$Size)) -ne $Size) {
        throw 'it ends in the middle of a header'
    }
    Skip-NodeStream -Source $Source -Count ((512 - $Size % 512) % 512)
    return , $bytes
}

function Read-NodeTar {
    <#
    .SYNOPSIS
    The entries of a tar: {name, kind, index}. The content of those whose index stands in Targets goes to the file named there. Source
    is an open gzip member, which is read to its end.
    #>
    param([hashtable]$Source, [hashtable]$Targets)

    $entries = New-Object System.Collections.ArrayList
    [byte[]]$header = New-Object 'byte[]' 512
    $longName = ''
    $pax = New-NodeMap
    while ($true) {
        $read = Read-NodeExact -Source $Source -Buffer $header -Count 512
        if ($read -eq 0) {
            throw 'it has no end: it is cut short'
        }
        if ($read -ne 512) {
            throw 'it ends in the middle of a header'
        }
        if ($header[0] -eq 0) {
            # A block of zeros ends the archive. What is behind it counts for nothing, but the file must be whole.
            while ($read -gt 0) {
                $read = Read-NodeUnpacked -Source $Source -Buffer $header -Offset 0 -Count 512
            }
            break
        }
        if (-not (Test-NodeTarHeader -Header $header)) {
            throw 'a header of it is damaged'
        }
        $size = [int64](Get-NodeTarNumber -Header $header -Start 124 -Length 12)
        $type = [string][char]$header[156]
        if ($type -ceq 'L') {
            [byte[]]$block = Read-NodeTarBlock -Source $Source -Size $size
            $longName = [System.Text.Encoding]::UTF8.GetString($block).TrimEnd([char]0)
            continue
        }
        if ($type -ceq 'x') {
            [byte[]]$block = Read-NodeTarBlock -Source $Source -Size $size
            $pax = Get-NodePaxTable -Bytes $block
            continue
        }
        if ($type -ceq 'g' -or $type -ceq 'K') {
            # Defaults for all entries (comments, times), and the long target of a link: neither decides anything here.
            $null = Read-NodeTarBlock -Source $Source -Size $size
            continue
        }
        $name = Get-NodeTarText -Header $header -Start 0 -Length 100
        # POSIX writes a zero byte after ustar, GNU a blank; only POSIX has a prefix. (-ceq would ignore the zero byte.)
        if ([System.Text.Encoding]::ASCII.GetString($header, 257, 5) -ceq 'ustar' -and $header[262] -eq 0) {
            $prefix = Get-NodeTarText -Header $header -Start 345 -Length 155
            if ($prefix -ne '') {
                $name = $prefix + '/' + $name
            }
        }
        if ($longName -ne '') {
            $name = $longName
        }
        if ($pax.ContainsKey('path')) {
            $name = [string]$pax['path']
        }
        if ($pax.ContainsKey('size')) {
            $size = [int64]$pax['size']
        }
        $longName = ''
        $pax = New-NodeMap
        $kind = 'link'
        if ($type -ceq '0' -or $type -ceq '7' -or $header[156] -eq 0) {
            $kind = 'file'
        }
        elseif ($type -ceq '5') {
            $kind = 'directory'
        }
        elseif ($type -cne '1' -and $type -cne '2') {
            $kind = 'special file'
        }
        $index = $entries.Count
        $null = $entries.Add(@{ name = $name; kind = $kind; index = $index })
        if ($kind -ceq 'link' -or $kind -ceq 'directory') {
            # They have no content, whatever their header says of a size.
            continue
        }
        if ($Targets.ContainsKey($index)) {
            $target = New-Object System.IO.FileStream($Targets[$index], [System.IO.FileMode]::Create, [System.IO.FileAccess]::Write,
                [System.IO.FileShare]::None)
            try {
                Skip-NodeStream -Source $Source -Count $size -Target $target
                $target.Flush($true)
            }
            finally {
                $target.Dispose()
            }
        }
        else {
            Skip-NodeStream -Source $Source -Count $size
        }
        Skip-NodeStream -Source $Source -Count ((512 - $size % 512) % 512)
    }
    return , $entries.ToArray()
}

function Read-NodeZip {
    <# .SYNOPSIS As Read-NodeTar, for a zip; throws where the content in Targets is more than MaxBytes, if that is not 0. #>
    param([System.IO.Stream]$Stream, [hashtable]$Targets, [int64]$MaxBytes)

    Add-Type -AssemblyName System.IO.Compression
    # What is read counts, not what the archive says of its sizes.
    $total = [int64]0
    [byte[]]$buffer = New-Object 'byte[]' 1048576
    $entries = New-Object System.Collections.ArrayList
    $zip = New-Object System.IO.Compression.ZipArchive($Stream, [System.IO.Compression.ZipArchiveMode]::Read, $true)
    try {
        # The getter as a method: PowerShell turns the exception of a property into null, and a damaged zip would be an empty one.
        foreach ($entry in $zip.get_Entries()) {
            $kind = 'file'
            if ($entry.FullName.EndsWith('/', [System.StringComparison]::Ordinal)) {
                $kind = 'directory'
            }
            elseif ($null -ne $entry.PSObject.Properties['ExternalAttributes']) {
                # The Unix mode is in the upper half; 0xA000 is a symbolic link. .NET Framework before 4.7.2 does not tell.
                if ((($entry.ExternalAttributes -shr 16) -band 0xF000) -eq 0xA000) {
                    $kind = 'link'
                }
            }
            $index = $entries.Count
            $null = $entries.Add(@{ name = $entry.FullName; kind = $kind; index = $index })
            if ($Targets.ContainsKey($index)) {
                $source = $entry.Open()
                $target = $null
                try {
                    $target = New-Object System.IO.FileStream($Targets[$index], [System.IO.FileMode]::Create,
                        [System.IO.FileAccess]::Write, [System.IO.FileShare]::None)
                    $read = $source.Read($buffer, 0, $buffer.Length)
                    while ($read -gt 0) {
                        $total += $read
                        if ($MaxBytes -gt 0 -and $total -gt $MaxBytes) {
                            throw "it holds more than $MaxBytes bytes"
                        }
                        $target.Write($buffer, 0, $read)
                        $read = $source.Read($buffer, 0, $buffer.Length)
                    }
                    $target.Flush($true)
                }
                finally {
                    if ($null -ne $target) {
                        $target.Dispose()
                    }
                    $source.Dispose()
                }
            }
        }
    }
    finally {
        $zip.Dispose()
    }
    return , $entries.ToArray()
}

function Read-NodeArchive {
    <#
    .SYNOPSIS
    All entries of a zip or tar.gz, told by its first bytes; those in Targets are written to the files named there. Throws where a
    tar.gz, or what is taken of a zip, holds more than MaxBytes, if that is not 0.
    #>
    param([string]$Archive, [hashtable]$Targets, [int64]$MaxBytes = 0)

    $begins = Read-NodeFirstByte -Path $Archive -Count 4
    $isZip = $begins -ceq '504b0304'
    if (-not $isZip -and -not $begins.StartsWith('1f8b', [System.StringComparison]::Ordinal)) {
        throw "$Archive is neither a zip nor a tar.gz: it begins with $begins."
    }
    $file = Open-NodeFile -Path $Archive
    $source = @{ file = $file; deflate = $null; start = [int64]0; made = [int64]0; ended = $false }
    $source['most'] = $MaxBytes
    $source['total'] = [int64]0
    try {
        if ($isZip) {
            return , (Read-NodeZip -Stream $file -Targets $Targets -MaxBytes $MaxBytes)
        }
        Open-NodeMember -Source $source
        return , (Read-NodeTar -Source $source -Targets $Targets)
    }
    catch {
        $failure = $_
        if ((Get-NodeErrorCode -Record $failure) -eq 112) {
            throw $failure
        }
        throw "$Archive could not be unpacked: $(Get-NodeErrorText -Record $failure)"
    }
    finally {
        if ($null -ne $source['deflate']) {
            $source['deflate'].Dispose()
        }
        $file.Dispose()
    }
}

function Select-NodeMember {
    <# .SYNOPSIS Where each wanted member goes: a list of {index, path}. Throws for a member that cannot be had. #>
    param([string]$Archive, [object[]]$Entries, [object[]]$Members, [string]$Destination)

    # Put together by hand: .NET Framework's GetFullPath refuses a path of 260 characters.
    $separator = [string][System.IO.Path]::DirectorySeparatorChar
    $root = $Destination.TrimEnd([char[]]@([char]47, [char]92)) + $separator
    $chosen = New-Object System.Collections.ArrayList
    foreach ($member in $Members) {
        $from = [string]$member['from']
        $to = [string]$member['to']
        # Windows leaves blanks and dots at the end of a name out: `.. ` would be a way up.
        if ($to.Contains(':') -or (Test-NodeEscape -Name $to) -or $to -match '^$|^[/\\]|[/\\ .]([/\\]|$)') {
            throw "${Archive}: the member $from is to go to '$to', which leads out of $Destination."
        }
        $path = Get-NodeLongPath -Path ($root + $to.Replace('\', '/').Replace('/', $separator))
        $found = $null
        foreach ($entry in $Entries) {
            if ((Get-NodeMemberName -Name $entry['name']) -ceq (Get-NodeMemberName -Name $from)) {
                $found = $entry
                break
            }
        }
        if ($null -eq $found) {
            $names = New-Object System.Collections.ArrayList
            foreach ($entry in $Entries) {
                if ($entry['kind'] -ceq 'file' -and $names.Count -lt 20) {
                    $null = $names.Add($entry['name'])
                }
            }
            throw "$Archive has no member $from; it has $($names.ToArray() -join ', ')."
        }
        if ($found['kind'] -cne 'file') {
            throw "${Archive}: the member $from is a $($found['kind']), not a file."
        }
        $null = $chosen.Add(@{ index = [int]$found['index']; path = $path })
    }
    return , $chosen.ToArray()
}

function Invoke-NodeOpUnpack {
    param([object]$Arguments, [hashtable]$Run)

    $archive = [string]$Arguments['archive']
    $destination = [string]$Arguments['destination']
    if ((Get-NodeFileKind -Path $archive) -cne 'file') {
        throw "There is no archive $archive."
    }
    $most = [int64](Get-NodeArgument -Map $Arguments -Name 'max_bytes' -Default 0)
    $entries = Read-NodeArchive -Archive $archive -Targets @{} -MaxBytes $most
    foreach ($entry in $entries) {
        if (Test-NodeEscape -Name $entry['name']) {
            throw "$archive is refused: its entry '$($entry['name'])' leads out of the folder it is unpacked into."
        }
    }
    $members = Get-NodeArgumentList -Map $Arguments -Name 'members'
    $chosen = Select-NodeMember -Archive $archive -Entries $entries -Members $members -Destination $destination
    $targets = New-NodeMap
    foreach ($item in $chosen) {
        $null = Assert-NodeFilePlace -Path $item['path']
        New-NodeFolder -Path ([System.IO.Path]::GetDirectoryName([string]$item['path']))
        $targets[$item['index']] = $item['path'] + '.winkube-new'
    }
    $changed = $false
    try {
        $null = Read-NodeArchive -Archive $archive -Targets $targets -MaxBytes $most
        foreach ($item in $chosen) {
            $fresh = $targets[$item['index']]
            if ([System.IO.File]::Exists($item['path']) -and (Get-NodeFileHash -Path $item['path']) -ceq (Get-NodeFileHash -Path $fresh)) {
                Remove-NodeFileQuietly -Path $fresh
            }
            else {
                Move-NodeFileIn -Source $fresh -Path $item['path']
                $changed = $true
            }
        }
    }
    catch {
        $failure = $_
        foreach ($fresh in @($targets.Values)) {
            Remove-NodeFileQuietly -Path $fresh
        }
        throw $failure
    }
    return @{ changed = $changed }
}
