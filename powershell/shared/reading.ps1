# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The queries of docs/protocol.md section 1. Each reads and none writes, but for the cache of
# hashes; one that fails gives {error: sentence} and never throws.

function New-NodeHashCache {
    <#
    .SYNOPSIS
    The cache of hashes: state\hashes.json, used only if the state folder is there and nobody but SYSTEM or Administrators owns it.
    #>
    param([string]$StateDir)

    $cache = @{ path = ''; entries = (New-NodeMap); changed = $false }
    if ($StateDir -eq '') {
        return $cache
    }
    try {
        if ((Get-NodeFileKind -Path $StateDir) -cne 'directory') {
            return $cache
        }
        if ((Test-NodeWindows) -and @('S-1-5-18', 'S-1-5-32-544') -notcontains (Get-NodeOwner -Path $StateDir)) {
            return $cache
        }
        $cache['path'] = Join-NodePath -Folder $StateDir -Name 'hashes.json'
        if ([System.IO.File]::Exists($cache['path'])) {
            $known = ConvertFrom-NodeJson -Text (Read-NodeText -Path $cache['path'])
            foreach ($entry in $known.GetEnumerator()) {
                $cache['entries'][[string]$entry.Key] = $entry.Value
            }
        }
    }
    catch {
        # A damaged cache is an empty one.
        $cache['entries'] = New-NodeMap
    }
    return $cache
}

function Save-NodeHashCache {
    param([hashtable]$Cache)

    if (-not $Cache['changed'] -or $Cache['path'] -eq '') {
        return
    }
    try {
        # In place: what a cut leaves half written is no JSON, and a damaged cache is an empty one. To write it in one step takes
        # functions for access lists that a reading needs for nothing else, and that would travel with each.
        $null = [System.IO.File]::WriteAllText([string]$Cache['path'], (ConvertTo-NodeJson -Value $Cache['entries']))
    }
    catch {
        # Without the cache the next probe only takes longer.
        $null = $_
    }
}

function Get-NodeCachedHash {
    <#
    .SYNOPSIS
    The sha256 of a file, from the cache while size, write time and file id are as noted.

    .NOTES
    .NET does not tell the NTFS file id, and compiling C# for it would cost more than most hashes: the time of creation stands for it.
    A file written less than 2 s ago is not noted: it could change again without a new time. With Fresh what is noted is not believed.
    #>
    param([hashtable]$Cache, [System.IO.FileInfo]$Item, [bool]$Fresh)

    $key = $Item.FullName.ToLowerInvariant()
    $written = Get-NodeTime -Moment $Item.LastWriteTimeUtc
    $id = Get-NodeTime -Moment $Item.CreationTimeUtc
    if (-not $Fresh -and $Cache['entries'].ContainsKey($key)) {
        $known = Select-NodeField -Map $Cache['entries'][$key] -Texts @('written', 'file_id', 'sha256') -Numbers @('size')
        if ($known['size'] -eq $Item.Length -and
            [string]$known['written'] -ceq $written -and
            [string]$known['file_id'] -ceq $id -and
            [string]$known['sha256'] -cmatch '\A[0-9a-f]{64}\z') {
            return [string]$known['sha256']
        }
    }
    $hash = Get-NodeFileHash -Path $Item.FullName
    if (([datetime]::UtcNow - $Item.LastWriteTimeUtc).TotalSeconds -ge 2) {
        $Cache['entries'][$key] = @{ size = $Item.Length; written = $written; file_id = $id; sha256 = $hash }
        $Cache['changed'] = $true
    }
    return $hash
}

function Read-NodeInside {
    <#
    .SYNOPSIS
    The files of a folder whose names end so, and that are not just as a folder of administrators hands it on: name -> SDDL, or `link`.
    #>
    param([string]$Folder, [object[]]$Endings)

    $found = New-Object System.Collections.Hashtable ([System.StringComparer]::Ordinal)
    foreach ($path in [System.IO.Directory]::GetFiles($Folder)) {
        if ($Endings -notcontains [System.IO.Path]::GetExtension($path)) {
            continue
        }
        # A link first: what it points to may not be there, and is not what is asked for.
        $sddl = 'link'
        $whole = Get-NodeLongPath -Path $path
        if ((Get-NodeFileKind -Path $whole) -cne 'link') {
            $sddl = Get-NodeSddl -Path $whole
        }
        if ($null -ne $sddl -and $sddl -cnotmatch '^O:(BA|SY)D:(AI)?(\(A;ID;[^)]*\))*$') {
            $found[[string][System.IO.Path]::GetFileName($path)] = [string]$sddl
        }
    }
    return $found
}

function Read-NodeFile {
    <# .SYNOPSIS The query `file`. #>
    param([object]$Query, [hashtable]$Cache)

    $path = Get-NodeLongPath -Path ([string]$Query['path'])
    $kind = Get-NodeFileKind -Path $path
    if ($kind -ceq 'absent') {
        return @{ exists = $false }
    }
    $item = New-Object System.IO.FileInfo($path)
    $answer = @{ exists = $true; kind = $kind; size = 0; written = (Get-NodeTime -Moment $item.LastWriteTimeUtc) }
    if ($kind -ceq 'file') {
        $answer['size'] = $item.Length
        if ([bool](Get-NodeArgument -Map $Query -Name 'sha256' -Default $false)) {
            $fresh = [bool](Get-NodeArgument -Map $Query -Name 'fresh' -Default $false)
            $answer['sha256'] = Get-NodeCachedHash -Cache $Cache -Item $item -Fresh $fresh
        }
        if ([bool](Get-NodeArgument -Map $Query -Name 'version' -Default $false)) {
            $version = [System.Diagnostics.FileVersionInfo]::GetVersionInfo($path).FileVersion
            $answer['version'] = $null
            if (-not [string]::IsNullOrEmpty($version)) {
                $answer['version'] = $version.Trim()
            }
        }
        $limit = [int64](Get-NodeArgument -Map $Query -Name 'content_limit' -Default 0)
        if ($limit -gt 0) {
            $answer['content'] = $null
            if ($item.Length -le $limit) {
                $answer['content'] = [System.Convert]::ToBase64String((Read-NodeBytes -Path $path))
            }
        }
        $beginning = [int](Get-NodeArgument -Map $Query -Name 'head' -Default 0)
        if ($beginning -gt 0) {
            $answer['head'] = [System.Convert]::ToBase64String((Read-NodePart -Path $path -Count $beginning))
        }
        $end = [int](Get-NodeArgument -Map $Query -Name 'tail' -Default 0)
        if ($end -gt 0) {
            $answer['tail'] = [System.Convert]::ToBase64String((Read-NodePart -Path $path -Count $end -FromEnd $true))
        }
        if ([bool](Get-NodeArgument -Map $Query -Name 'holders' -Default $false)) {
            $answer['holders'] = Get-NodeHolder -Path ([string]$Query['path'])
        }
    }
    if ([bool](Get-NodeArgument -Map $Query -Name 'sddl' -Default $false)) {
        $answer['sddl'] = Get-NodeSddl -Path $path
    }
    $endings = Get-NodeArgumentList -Map $Query -Name 'inside'
    if ($kind -ceq 'directory' -and $endings.Length -gt 0) {
        $answer['inside'] = Read-NodeInside -Folder $path -Endings $endings
    }
    if ($kind -ceq 'directory' -and [bool](Get-NodeArgument -Map $Query -Name 'entries' -Default $false)) {
        $names = New-Object System.Collections.ArrayList
        foreach ($entry in [System.IO.Directory]::GetFileSystemEntries($path)) {
            $null = $names.Add([System.IO.Path]::GetFileName($entry))
        }
        [string[]]$sorted = $names.ToArray()
        [System.Array]::Sort($sorted, [System.StringComparer]::OrdinalIgnoreCase)
        $answer['entries'] = [object[]]@($sorted)
    }
    return $answer
}

function Read-NodeOnPath {
    <# .SYNOPSIS The query `on_path`: the files of this name on the machine's Path with their hashes. #>
    param([string]$Name, [hashtable]$Cache)

    $found = New-Object System.Collections.ArrayList
    foreach ($path in (Find-NodeOnPath -Name $Name)) {
        $item = New-Object System.IO.FileInfo([string]$path)
        $null = $found.Add(@{ path = [string]$path; sha256 = (Get-NodeCachedHash -Cache $Cache -Item $item -Fresh $false) })
    }
    return , $found.ToArray()
}

function Find-NodePipe {
    <#
    .SYNOPSIS
    Whether a pipe is in the list of pipes; null if the list is not whole.

    .NOTES
    A pipe may have a name that is no file name: .NET Framework throws when it comes to it and goes on behind it. Wine has no list.
    #>
    param([string]$Name)

    $torn = 0
    try {
        $list = [System.IO.Directory]::EnumerateFiles('\\.\pipe\').GetEnumerator()
        while ($torn -lt 100) {
            try {
                if (-not $list.MoveNext()) {
                    break
                }
            }
            catch {
                $torn++
                continue
            }
            if ([string]::Equals(([string]$list.Current).Substring(9), $Name, [System.StringComparison]::OrdinalIgnoreCase)) {
                return $true
            }
        }
    }
    catch {
        $torn++
    }
    if ($torn -gt 0) {
        return $null
    }
    return $false
}

function Test-NodePipe {
    <#
    .SYNOPSIS
    Whether a named pipe exists. Listed rather than opened: opening takes one of its instances.
    #>
    param([string]$Name)

    $short = $Name
    foreach ($prefix in @('\\.\pipe\', 'npipe:////./pipe/', '//./pipe/')) {
        if ($short.StartsWith($prefix, [System.StringComparison]::OrdinalIgnoreCase)) {
            $short = $short.Substring($prefix.Length)
        }
    }
    $seen = Find-NodePipe -Name $short
    if ($null -ne $seen) {
        return [bool]$seen
    }
    $client = New-Object System.IO.Pipes.NamedPipeClientStream('.', $short, [System.IO.Pipes.PipeDirection]::InOut)
    try {
        $client.Connect(200)
        return $true
    }
    catch {
        # Denied means that it is there; a time-out that it is not, or that all its instances are busy.
        return [bool]((Get-NodeException -Record $_) -is [System.UnauthorizedAccessException])
    }
    finally {
        $client.Dispose()
    }
}

function Read-NodeHttp {
    <# .SYNOPSIS The query `http`: status and the first 2 KB of the body. No proxy, no redirects. #>
    param([string]$Url, [int]$TimeoutMs)

    if ($PSVersionTable.PSVersion.Major -lt 6) {
        Add-Type -AssemblyName System.Net.Http
    }
    Set-NodeTls
    $handler = New-Object System.Net.Http.HttpClientHandler
    $handler.UseProxy = $false
    $handler.AllowAutoRedirect = $false
    $client = New-Object System.Net.Http.HttpClient($handler)
    $response = $null
    try {
        $client.Timeout = [timespan]::FromMilliseconds($TimeoutMs)
        $null = $client.DefaultRequestHeaders.TryAddWithoutValidation('User-Agent', 'winkube.node')
        $headers = $client.GetAsync([string]$Url, [System.Net.Http.HttpCompletionOption]::ResponseHeadersRead)
        $response = $headers.GetAwaiter().GetResult()
        $opening = $response.Content.ReadAsStreamAsync()
        $stream = $opening.GetAwaiter().GetResult()
        [byte[]]$buffer = New-Object 'byte[]' 2048
        $filled = 0
        while ($filled -lt $buffer.Length) {
            $reading = $stream.ReadAsync($buffer, $filled, $buffer.Length - $filled)
            if (-not $reading.Wait($TimeoutMs)) {
                break
            }
            $count = [int]$reading.Result
            if ($count -eq 0) {
                break
            }
            $filled += $count
        }
        return @{ status = [int]$response.StatusCode; body = [System.Text.Encoding]::UTF8.GetString($buffer, 0, $filled) }
    }
    catch {
        $failure = $_
        if ((Get-NodeException -Record $failure) -is [System.OperationCanceledException]) {
            return @{ status = 0; error = "$Url gave no answer within $TimeoutMs ms." }
        }
        return @{ status = 0; error = (Get-NodeErrorText -Record $failure) }
    }
    finally {
        if ($null -ne $response) {
            $response.Dispose()
        }
        $client.Dispose()
    }
}

function Get-NodeTask {
    <# .SYNOPSIS A scheduled task as a COM object, null if there is none of that path. #>
    param([string]$Path)

    $cut = $Path.LastIndexOf('\')
    $folderPath = '\'
    if ($cut -gt 0) {
        $folderPath = $Path.Substring(0, $cut)
    }
    $scheduler = New-Object -ComObject Schedule.Service
    $scheduler.Connect()
    try {
        $folder = $scheduler.GetFolder($folderPath)
        return $folder.GetTask($Path.Substring($cut + 1))
    }
    catch {
        $failure = $_
        # 2, 3: no such task, no such folder.
        if (@(2, 3) -contains (Get-NodeErrorCode -Record $failure)) {
            return $null
        }
        throw $failure
    }
}

function Read-NodeTask {
    <# .SYNOPSIS The query `task`. #>
    param([string]$Path)

    $task = Get-NodeTask -Path $Path
    if ($null -eq $task) {
        return @{ exists = $false }
    }
    # Source: TASK_STATE of the Task Scheduler API; 0 is unknown.
    $words = @('disabled', 'disabled', 'queued', 'ready', 'running')
    return @{ exists = $true; enabled = [bool]$task.Enabled; state = $words[[int]$task.State] }
}

function Read-NodeCertificate {
    <# .SYNOPSIS The query `certificate`: the first certificate of a PEM file (a link is followed, as the kubelet's is one). #>
    param([string]$Path)

    try {
        $text = Read-NodeText -Path (Get-NodeLongPath -Path $Path)
    }
    catch {
        $failure = $_
        # 2, 3: no such file, no such folder.
        if (@(2, 3) -contains (Get-NodeErrorCode -Record $failure)) {
            return @{ exists = $false }
        }
        if ([System.IO.Directory]::Exists($Path)) {
            throw "$Path is a folder, not a PEM file."
        }
        throw $failure
    }
    # What lies beside it, such as a private key, is not looked at.
    $block = [regex]::Match($text, '-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----')
    if (-not $block.Success) {
        throw "$Path holds no certificate: there is no PEM block BEGIN CERTIFICATE."
    }
    try {
        [byte[]]$bytes = [System.Convert]::FromBase64String($block.Groups[1].Value)
        $certificate = New-Object System.Security.Cryptography.X509Certificates.X509Certificate2(, $bytes)
    }
    catch {
        throw "The certificate in $Path is damaged: $(Get-NodeErrorText -Record $_)"
    }
    try {
        return @{
            exists = $true
            subject = [string]$certificate.Subject
            issuer = [string]$certificate.Issuer
            not_before = (Get-NodeTime -Moment $certificate.NotBefore)
            not_after = (Get-NodeTime -Moment $certificate.NotAfter)
            thumbprint = [string]$certificate.Thumbprint
        }
    }
    finally {
        $certificate.Dispose()
    }
}

function Read-NodeAnswer {
    <# .SYNOPSIS The value of one query; throws what goes wrong. #>
    param([object]$Query, [hashtable]$Cache, [object]$Hns)

    $op = [string](Get-NodeArgument -Map $Query -Name 'op' -Default '')
    switch -CaseSensitive ($op) {
        'system' { return Read-NodeSystem }
        'services' {
            $services = Read-NodeServiceList -Names (Get-NodeArgumentList -Map $Query -Name 'names')
            foreach ($service in $services) {
                Hide-NodeServiceValue -Service $service
            }
            return , $services
        }
        'service' {
            $service = Read-NodeService -Name ([string]$Query['name'])
            if ($service['exists']) {
                Hide-NodeServiceValue -Service $service
            }
            return $service
        }
        'file' { return Read-NodeFile -Query $Query -Cache $Cache }
        'registry' {
            $name = Get-NodeArgument -Map $Query -Name 'name'
            $asked = @{
                Path = [string]$Query['path']
                Single = ($null -ne $name)
                Name = [string]$name
                Tree = [bool](Get-NodeArgument -Map $Query -Name 'tree' -Default $false)
                Containing = (Get-NodeArgumentList -Map $Query -Name 'containing')
                Types = [bool](Get-NodeArgument -Map $Query -Name 'types' -Default $false)
            }
            $value = Read-NodeRegistry @asked
            if ([bool](Get-NodeArgument -Map $Query -Name 'fingerprint' -Default $false) -and $value.ContainsKey('value')) {
                $value['fingerprint'] = Get-NodeFingerprint -Entry (([string]$name).ToUpperInvariant() + '=' + [string]$value['value'])
                $null = $value.Remove('value')
            }
            return $value
        }
        'pipe' { return @{ exists = (Test-NodePipe -Name ([string]$Query['name'])) } }
        'processes' { return , (Read-NodeProcessList -Names (Get-NodeArgumentList -Map $Query -Name 'names')) }
        'http' {
            $service = [string](Get-NodeArgument -Map $Query -Name 'service' -Default '')
            if ($service -ne '' -and (Get-NodeServiceState -Name $service) -ne 'running') {
                return @{ status = 0; error = "The service $service does not run." }
            }
            $timeout = [int](Get-NodeArgument -Map $Query -Name 'timeout_ms' -Default 2000)
            return Read-NodeHttp -Url ([string]$Query['url']) -TimeoutMs $timeout
        }
        'task' { return Read-NodeTask -Path ([string]$Query['path']) }
        'volumes' { return Read-NodeVolumeTable }
        'adapters' { return , (Read-NodeAdapterList) }
        'hns' { return Invoke-NodeHns -Block $Hns -What $op -Arguments $Query }
        'certificate' { return Read-NodeCertificate -Path ([string]$Query['path']) }
        'encryption' { return Read-NodeEncryption -Volume ([string]$Query['volume']) }
        'on_path' { return , (Read-NodeOnPath -Name ([string]$Query['name']) -Cache $Cache) }
        default { throw "There is no query '$op'." }
    }
}

function Test-NodeQuery {
    <# .SYNOPSIS What a query lacks, as a sentence; empty if nothing. #>
    param([object]$Query)

    $needed = @{ service = 'name'; file = 'path'; registry = 'path'; pipe = 'name'; http = 'url'; task = 'path' }
    $needed += @{ certificate = 'path'; encryption = 'volume'; on_path = 'name' }
    $op = [string](Get-NodeArgument -Map $Query -Name 'op' -Default '')
    if ($needed.ContainsKey($op) -and [string](Get-NodeArgument -Map $Query -Name $needed[$op] -Default '') -eq '') {
        return "The query '$op' needs '$($needed[$op])'."
    }
    return ''
}

function Read-NodeQueryList {
    <# .SYNOPSIS Key -> value for a list of queries; a failed one is {error}. Hns: what New-NodeHns gives. #>
    param([object[]]$Queries, [string]$StateDir, [object]$Hns, [bool]$KeepHashes = $true)

    $parts = New-Object System.Collections.Hashtable ([System.StringComparer]::Ordinal)
    $cache = New-NodeHashCache -StateDir $StateDir
    foreach ($query in $Queries) {
        $key = [string](Get-NodeArgument -Map $query -Name 'key' -Default '')
        try {
            $lack = Test-NodeQuery -Query $query
            if ($lack -ne '') {
                throw $lack
            }
            $value = ConvertTo-NodePlain -Value (Read-NodeAnswer -Query $query -Cache $cache -Hns $Hns)
        }
        catch {
            $value = @{ error = (Get-NodeErrorText -Record $_) }
        }
        if ($value -is [array]) {
            $parts[$key] = [object[]]$value
        }
        else {
            $parts[$key] = $value
        }
    }
    if ($KeepHashes) {
        Save-NodeHashCache -Cache $cache
    }
    return $parts
}
