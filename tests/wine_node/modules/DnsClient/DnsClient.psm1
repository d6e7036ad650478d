# The commands of Windows' module DnsClient that the scripts call: the node's process answers, for its one adapter.
Set-StrictMode -Version 2.0
Import-Module "$PSScriptRoot\..\StandIn\StandIn.psm1"

function Get-DnsClient {
    [CmdletBinding()]
    param([uint32]$InterfaceIndex)

    try { Get-StandInRow -Question @{ what = 'store'; class = 'MSFT_DNSClient'; store = 'ActiveStore' } }
    catch { Write-Error -ErrorRecord $_ }
}

function Set-DnsClient {
    [CmdletBinding()]
    param([uint32]$InterfaceIndex, [string]$ConnectionSpecificSuffix, [bool]$RegisterThisConnectionsAddress, [bool]$UseSuffixWhenRegistering)

    $values = @{
        ConnectionSpecificSuffix = $ConnectionSpecificSuffix
        RegisterThisConnectionsAddress = $RegisterThisConnectionsAddress
        UseSuffixWhenRegistering = $UseSuffixWhenRegistering
    }
    try { $null = Request-StandIn -Question @{ cim = @{ what = 'set'; class = 'MSFT_DNSClient'; values = $values } } }
    catch { Write-Error -ErrorRecord $_ }
}

Export-ModuleMember -Function Get-DnsClient, Set-DnsClient
