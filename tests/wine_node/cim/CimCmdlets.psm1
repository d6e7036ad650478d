# Get-CimInstance where PowerShell has no CIM (libmi): the node's process answers. First in PSModulePath.
Set-StrictMode -Version 2.0

function Request-StandIn {
    param([hashtable]$Question)

    $host_, $port = ([IO.File]::ReadAllText('C:\windows\winkube-standins.txt')).Trim().Split(':')
    $client = New-Object Net.Sockets.TcpClient($host_, [int]$port)
    try {
        $stream = $client.GetStream()
        [byte[]]$bytes = [Text.Encoding]::UTF8.GetBytes((ConvertTo-Json -InputObject $Question -Depth 5 -Compress) + "`n")
        $stream.Write($bytes, 0, $bytes.Length)
        $reader = New-Object IO.StreamReader($stream)
        return ConvertFrom-Json -InputObject $reader.ReadToEnd()
    }
    finally {
        $client.Dispose()
    }
}

function Get-CimInstance {
    [CmdletBinding()]
    param([string]$Namespace = 'root/cimv2', [string]$Query, [string]$ClassName, [string]$Filter, [uint32]$OperationTimeoutSec)

    $said = Request-StandIn -Question @{ cim = @{ namespace = $Namespace; query = $Query; class = $ClassName; filter = $Filter } }
    if ($null -ne $said.PSObject.Properties['error']) {
        Write-Error -Message $said.error
        return
    }
    $said.rows
}

Export-ModuleMember -Function Get-CimInstance
