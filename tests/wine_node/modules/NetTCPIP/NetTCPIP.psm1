# The commands of Windows' module NetTCPIP that the scripts call: the node's process answers, for its one adapter.
Set-StrictMode -Version 2.0
Import-Module "$PSScriptRoot\..\StandIn\StandIn.psm1"

function Get-NetIPInterface {
    [CmdletBinding()]
    param([uint32]$InterfaceIndex, [string]$PolicyStore)

    try { Get-StandInRow -Question @{ what = 'store'; class = 'MSFT_NetIPInterface'; store = $PolicyStore } }
    catch { Write-Error -ErrorRecord $_ }
}

function Get-NetIPAddress {
    [CmdletBinding()]
    param([uint32]$InterfaceIndex, [string]$PolicyStore)

    try { Get-StandInRow -Question @{ what = 'store'; class = 'MSFT_NetIPAddress'; store = $PolicyStore } }
    catch { Write-Error -ErrorRecord $_ }
}

function Get-NetRoute {
    [CmdletBinding()]
    param([uint32]$InterfaceIndex, [string]$PolicyStore)

    try { Get-StandInRow -Question @{ what = 'store'; class = 'MSFT_NetRoute'; store = $PolicyStore } }
    catch { Write-Error -ErrorRecord $_ }
}

function Set-NetIPInterface {
    [CmdletBinding()]
    param([uint32]$InterfaceIndex, [string]$AddressFamily, [string]$Dhcp, [uint32]$NlMtuBytes, [string]$AutomaticMetric, [uint32]$InterfaceMetric)

    $values = @{}
    foreach ($entry in $PSBoundParameters.GetEnumerator()) {
        if (@('AddressFamily', 'Dhcp', 'NlMtuBytes', 'AutomaticMetric', 'InterfaceMetric') -contains $entry.Key) {
            $values[$entry.Key] = $entry.Value
        }
    }
    try { $null = Request-StandIn -Question @{ cim = @{ what = 'set'; class = 'MSFT_NetIPInterface'; values = $values } } }
    catch { Write-Error -ErrorRecord $_ }
}

Export-ModuleMember -Function Get-NetIPInterface, Get-NetIPAddress, Get-NetRoute, Set-NetIPInterface
