# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Downloads: to <path>.part, checked, then renamed in.

function Read-NodeFirstByte {
    <# .SYNOPSIS The first bytes of a file as lower-case hex. #>
    param([string]$Path, [int]$Count)

    [byte[]]$bytes = Read-NodePart -Path $Path -Count $Count
    return [string][System.BitConverter]::ToString($bytes).Replace('-', '').ToLowerInvariant()
}

function Hide-NodeAddressSecret {
    <# .SYNOPSIS A text in which these addresses stand without user, password and query: what fails is noted in the journal. #>
    param([string]$Text, [string[]]$Address)

    foreach ($one in $Address) {
        if ($one -ne '') {
            $shown = $one -replace '^([^:/]+://)?.*[^/]@', '$1***@' -replace '[?;#].*$', '?***'
            $Text = $Text.Replace($one, $shown)
        }
    }
    return $Text
}

function ConvertTo-NodeAddress {
    <#
    .SYNOPSIS
    A text as a Uri; throws a sentence without what may be secret of it.

    .NOTES
    A cast quotes the text in its error, which a transcript keeps. Neither cast nor New-Object: what a cmdlet is handed is in the log
    of who logs modules.
    #>
    param([string]$Text)

    $made = $null
    if (-not [uri]::TryCreate($Text, [System.UriKind]::Absolute, [ref]$made)) {
        throw "$(Hide-NodeAddressSecret -Text $Text -Address @($Text)) is no address."
    }
    return [uri]$made
}

function New-NodeHttpClient {
    <# .SYNOPSIS A client that follows no redirect by itself and uses no proxy but the one it is told. #>
    param([string]$Proxy)

    if ($PSVersionTable.PSVersion.Major -lt 6) {
        Add-Type -AssemblyName System.Net.Http
    }
    Set-NodeTls
    $handler = New-Object System.Net.Http.HttpClientHandler
    $handler.AllowAutoRedirect = $false
    $handler.UseProxy = $false
    if ($Proxy -ne '') {
        $address = ConvertTo-NodeAddress -Text $Proxy
        $webProxy = New-Object System.Net.WebProxy
        $webProxy.Address = $address
        if ($address.UserInfo -ne '') {
            $parts = $address.UserInfo.Split([char[]]@([char]58), 2)
            $password = ''
            if ($parts.Length -gt 1) {
                $password = [uri]::UnescapeDataString($parts[1])
            }
            $credential = New-Object System.Net.NetworkCredential
            $credential.UserName = [uri]::UnescapeDataString($parts[0])
            $credential.Password = $password
            $webProxy.Credentials = $credential
        }
        # In this order: .NET Framework refuses a proxy while none is used. Source: referencesource, HttpClientHandler.cs, Proxy.
        $handler.UseProxy = $true
        $handler.Proxy = $webProxy
    }
    $client = New-Object System.Net.Http.HttpClient($handler)
    # Some servers and proxies refuse who does not say what he is. A request's own header goes before it.
    $null = $client.DefaultRequestHeaders.TryAddWithoutValidation('User-Agent', 'winkube.node')
    $client.Timeout = [System.Threading.Timeout]::InfiniteTimeSpan
    return $client
}

function Wait-NodeTask {
    <# .SYNOPSIS Waits for a .NET task as long as there is time; throws what it throws. #>
    param([object]$Task, [hashtable]$Limit)

    $left = $Limit['ms'] - $Limit['watch'].ElapsedMilliseconds
    if ($left -le 0 -or -not $Task.Wait([int]$left)) {
        throw "$($Limit['url']): no end after $([int]($Limit['ms'] / 1000)) s, gave up."
    }
}

function Open-NodeDownload {
    <# .SYNOPSIS The response to a GET, redirects followed: {response, url}. Headers are not carried to another host. #>
    param([object]$Client, [string]$Url, [object]$Headers, [hashtable]$Limit)

    $address = ConvertTo-NodeAddress -Text $Url
    $origin = $address.Authority
    for ($hop = 0; $hop -le 5; $hop++) {
        # Its method is GET.
        $request = New-Object System.Net.Http.HttpRequestMessage
        $request.RequestUri = $address
        if ($null -ne $Headers -and $address.Authority -eq $origin) {
            foreach ($entry in $Headers.GetEnumerator()) {
                $null = $request.Headers.TryAddWithoutValidation([string]$entry.Key, [string]$entry.Value)
            }
        }
        $sending = $Client.SendAsync($request, [System.Net.Http.HttpCompletionOption]::ResponseHeadersRead)
        Wait-NodeTask -Task $sending -Limit $Limit
        $response = $sending.Result
        $status = [int]$response.StatusCode
        $location = $response.Headers.Location
        if (@(301, 302, 303, 307, 308) -notcontains $status -or $null -eq $location) {
            return $response
        }
        $response.Dispose()
        $next = $null
        if (-not [uri]::TryCreate($address, [uri]$location, [ref]$next)) {
            throw "$($Limit['url']): redirected to a place that is not an address; that is not followed."
        }
        if ($address.Scheme -eq 'https' -and $next.Scheme -ne 'https') {
            $place = "$($next.Scheme)://$($next.Authority)"
            throw "$($Limit['url']): redirected from https to $place; that is not followed."
        }
        $address = [uri]$next
    }
    throw "$($Limit['url']): more than 5 redirects."
}

function Save-NodeDownload {
    <# .SYNOPSIS A response's body to a file; throws unless all of it, and not more than allowed, has come. $Shown names it in sentences. #>
    param([object]$Response, [string]$Shown, [string]$Path, [int64]$MaxBytes, [hashtable]$Limit)

    $announced = [int64]-1
    if ($null -ne $Response.Content.Headers.ContentLength) {
        $announced = [int64]$Response.Content.Headers.ContentLength
    }
    if ($MaxBytes -gt 0 -and $announced -gt $MaxBytes) {
        throw "$($Shown): wanted at most $MaxBytes bytes, found $announced."
    }
    $opening = $Response.Content.ReadAsStreamAsync()
    Wait-NodeTask -Task $opening -Limit $Limit
    $source = $opening.Result
    $target = $null
    $total = [int64]0
    try {
        $target = New-Object System.IO.FileStream($Path, [System.IO.FileMode]::Create, [System.IO.FileAccess]::Write,
            [System.IO.FileShare]::None)
        [byte[]]$buffer = New-Object 'byte[]' 1048576
        while ($true) {
            $reading = $source.ReadAsync($buffer, 0, $buffer.Length)
            Wait-NodeTask -Task $reading -Limit $Limit
            $count = [int]$reading.Result
            if ($count -eq 0) {
                break
            }
            $total += $count
            if ($MaxBytes -gt 0 -and $total -gt $MaxBytes) {
                throw "$($Shown): wanted at most $MaxBytes bytes, found more."
            }
            $target.Write($buffer, 0, $count)
        }
        $target.Flush($true)
    }
    finally {
        if ($null -ne $target) {
            $target.Dispose()
        }
        $source.Dispose()
    }
    if ($announced -ge 0 -and $total -ne $announced) {
        throw "$($Shown): wanted $announced bytes, found $($total): the download was cut short."
    }
}

function Assert-NodeDownload {
    <# .SYNOPSIS Throws unless a file begins as it should and has the sha256 that is wanted. #>
    param([string]$Shown, [string]$Path, [string]$Hash, [object[]]$Magic)

    if ($Magic.Length -gt 0) {
        $begins = [string](Read-NodeFirstByte -Path $Path -Count 64)
        $fits = $false
        foreach ($start in $Magic) {
            if ($begins.StartsWith(([string]$start).ToLowerInvariant(), [System.StringComparison]::Ordinal)) {
                $fits = $true
            }
        }
        if (-not $fits) {
            $hint = ''
            # 3c is '<': most often an error page or a login page instead of the file.
            if ($begins.TrimStart('0', 'a', 'd', '2').StartsWith('3c', [System.StringComparison]::Ordinal)) {
                $hint = ' (it looks like an HTML page)'
            }
            $shown = $begins.Substring(0, [System.Math]::Min(16, $begins.Length))
            throw "$($Shown): wanted a file that begins with $($Magic -join ' or '), found $shown$hint."
        }
    }
    if ($Hash -ne '') {
        $found = Get-NodeFileHash -Path $Path
        if ($found -cne $Hash) {
            $size = (New-Object System.IO.FileInfo($Path)).Length
            throw "$($Shown): wanted sha256 $Hash, found $found ($size bytes)."
        }
    }
}

function Invoke-NodeOpFetch {
    param([object]$Arguments, [hashtable]$Run)

    $url = [string]$Arguments['url']
    $path = [string]$Arguments['path']
    $wanted = ([string](Get-NodeArgument -Map $Arguments -Name 'sha256' -Default '')).ToLowerInvariant()
    if ((Assert-NodeFilePlace -Path $path) -and $wanted -ne '' -and (Get-NodeFileHash -Path $path) -ceq $wanted) {
        return @{ changed = $false; sha256 = $wanted }
    }
    $maxBytes = [int64](Get-NodeArgument -Map $Arguments -Name 'max_bytes' -Default 0)
    $timeout = Get-NodeTimeLeft -Run $Run -Wanted ([double](Get-NodeArgument -Map $Arguments -Name 'timeout_s' -Default 600))
    # Without its secrets in every sentence from here on: a transcript keeps what is thrown, also where it is caught.
    $shown = Hide-NodeAddressSecret -Text $url -Address @($url)
    $limit = @{ url = $shown; ms = [int64]($timeout * 1000); watch = [System.Diagnostics.Stopwatch]::StartNew() }
    $part = $path + '.part'
    $client = $null
    $response = $null
    try {
        $address = ConvertTo-NodeAddress -Text $url
        if ($address.IsFile) {
            $source = Get-NodeLongPath -Path $address.LocalPath
            if (-not [System.IO.File]::Exists($source)) {
                throw "$($shown): there is no file $($address.LocalPath) on the node."
            }
            if ($maxBytes -gt 0 -and (New-Object System.IO.FileInfo($source)).Length -gt $maxBytes) {
                throw "$($shown): wanted at most $maxBytes bytes, the file is larger."
            }
            Copy-NodeFile -Source $source -Path $part
        }
        else {
            $client = New-NodeHttpClient -Proxy ([string](Get-NodeArgument -Map $Arguments -Name 'proxy' -Default ''))
            $headers = Get-NodeArgument -Map $Arguments -Name 'headers'
            $response = Open-NodeDownload -Client $client -Url $url -Headers $headers -Limit $limit
            if ([int]$response.StatusCode -ne 200) {
                throw "$($shown): wanted status 200, found $([int]$response.StatusCode)."
            }
            Save-NodeDownload -Response $response -Shown $shown -Path $part -MaxBytes $maxBytes -Limit $limit
        }
        Assert-NodeDownload -Shown $shown -Path $part -Hash $wanted -Magic (Get-NodeArgumentList -Map $Arguments -Name 'magic')
        $found = $wanted
        if ($wanted -eq '') {
            $found = Get-NodeFileHash -Path $part
        }
        Move-NodeFileIn -Source $part -Path $path
        return @{ changed = $true; sha256 = $found }
    }
    catch {
        $text = Get-NodeErrorText -Record $_
        Remove-NodeFileQuietly -Path $part
        $proxy = [string](Get-NodeArgument -Map $Arguments -Name 'proxy' -Default '')
        $text = Hide-NodeAddressSecret -Text $text -Address @($url, $proxy)
        if (-not $text.Contains($shown)) {
            $text = "$($shown): $text"
        }
        throw $text
    }
    finally {
        if ($null -ne $response) {
            $response.Dispose()
        }
        if ($null -ne $client) {
            $client.Dispose()
        }
    }
}
