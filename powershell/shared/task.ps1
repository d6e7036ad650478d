# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The runner's text, the scheduled task that starts it, and what is noted of its starts.

function Get-NodeTaskCommand {
    <#
    .SYNOPSIS
    What the scheduled task runs, encoded: it reads the file itself, so that no execution policy can stop it.

    .NOTES
    It notes each start, and what ends a start outside an op: a runner that does not come up leaves no word in the journal. A disk
    too full for the note must not keep the runner from its work.
    #>
    param([string]$StateDir)

    $folder = $StateDir
    # PowerShell takes each of these for an apostrophe.
    foreach ($code in 0x27, 0x2018, 0x2019, 0x201A, 0x201B) {
        $quote = [string][char]$code
        $folder = $folder.Replace($quote, $quote + $quote)
    }
    $line = "`$ErrorActionPreference = 'Stop'; `$folder = '$folder'; " +
    '$now = [DateTime]::UtcNow.ToString(''o'', [Globalization.CultureInfo]::InvariantCulture); ' +
    'try { [IO.File]::AppendAllText([IO.Path]::Combine($folder, ''runner-starts.log''), $now + [string][char]10) } catch { $null = $_ }; ' +
    'try { $text = [IO.File]::ReadAllText([IO.Path]::Combine($folder, ''runner.ps1'')); ' +
    '& ([ScriptBlock]::Create($text)) -StateDir $folder } catch { ' +
    '$failure = $_.Exception; while ($null -ne $failure.InnerException) { $failure = $failure.InnerException }; ' +
    'try { [IO.File]::WriteAllText([IO.Path]::Combine($folder, ''runner-error.txt''), ($now + '' '' + $failure.Message)) } ' +
    'catch { $null = $_ }; exit 1 }'
    return [System.Convert]::ToBase64String([System.Text.Encoding]::Unicode.GetBytes($line))
}

function Get-NodeTaskXml {
    <# .SYNOPSIS The definition of \winkube\runner, disabled: it is enabled while a batch is open. #>
    param([string]$Command)

    $system = [System.Environment]::GetFolderPath('System')
    $program = [System.Security.SecurityElement]::Escape($system + '\WindowsPowerShell\v1.0\powershell.exe')
    return @"
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Finishes or rolls back a change that winkube.node has begun on this machine.</Description>
  </RegistrationInfo>
  <Triggers>
    <BootTrigger>
      <Enabled>true</Enabled>
    </BootTrigger>
    <TimeTrigger>
      <Repetition>
        <Interval>PT1M</Interval>
        <StopAtDurationEnd>false</StopAtDurationEnd>
      </Repetition>
      <StartBoundary>2020-01-01T00:00:00</StartBoundary>
      <Enabled>true</Enabled>
    </TimeTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>S-1-5-18</UserId>
      <RunLevel>HighestAvailable</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <AllowHardTerminate>true</AllowHardTerminate>
    <StartWhenAvailable>true</StartWhenAvailable>
    <RunOnlyIfNetworkAvailable>false</RunOnlyIfNetworkAvailable>
    <AllowStartOnDemand>true</AllowStartOnDemand>
    <Enabled>false</Enabled>
    <Hidden>false</Hidden>
    <RunOnlyIfIdle>false</RunOnlyIfIdle>
    <WakeToRun>false</WakeToRun>
    <ExecutionTimeLimit>PT3H</ExecutionTimeLimit>
    <Priority>4</Priority>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>$program</Command>
      <Arguments>-NoProfile -NonInteractive -EncodedCommand $Command</Arguments>
    </Exec>
  </Actions>
</Task>
"@
}

function Test-NodeSystemAccount {
    <# .SYNOPSIS Whether a user, by SID or in whatever language by name, is SYSTEM. #>
    param([string]$User)

    if ($User -eq 'S-1-5-18') {
        return $true
    }
    try {
        $account = New-Object System.Security.Principal.NTAccount($User)
        return [bool]($account.Translate([System.Security.Principal.SecurityIdentifier]).Value -ceq 'S-1-5-18')
    }
    catch {
        # There is no such account.
        return $false
    }
}

function Test-NodeRunnerTask {
    <# .SYNOPSIS Whether a task, if there is one, runs the runner of this state folder, and as SYSTEM. #>
    param([object]$Task, [string]$StateDir)

    if ($null -eq $Task) {
        return $false
    }
    $xml = [string]$Task.Xml
    # Not the XML's text: Windows may give back the name of the account that it was made with.
    $isSystem = Test-NodeSystemAccount -User ([string]$Task.Definition.Principal.UserId)
    return [bool]($xml.Contains((Get-NodeTaskCommand -StateDir $StateDir)) -and $isSystem)
}

function Register-NodeRunnerTask {
    <# .SYNOPSIS Makes \winkube\runner for this state folder; one that runs the same command already is left as it is. #>
    param([string]$StateDir)

    if (Test-NodeRunnerTask -Task (Get-NodeTask -Path '\winkube\runner') -StateDir $StateDir) {
        return
    }
    $scheduler = New-Object -ComObject Schedule.Service
    $scheduler.Connect()
    try {
        $folder = $scheduler.GetFolder('\winkube')
    }
    catch {
        $folder = $scheduler.GetFolder('\').CreateFolder('winkube')
    }
    $sid = New-Object System.Security.Principal.SecurityIdentifier('S-1-5-18')
    $account = $sid.Translate([System.Security.Principal.NTAccount]).Value
    # 6: create or update. 5: service account, without a password.
    $xml = [string](Get-NodeTaskXml -Command (Get-NodeTaskCommand -StateDir $StateDir))
    $null = $folder.RegisterTask('runner', $xml, 6, [string]$account, $null, 5)
}

function Set-NodeRunnerTask {
    <# .SYNOPSIS Enables or disables \winkube\runner; does nothing if there is no such task. #>
    param([bool]$Enabled)

    $task = Get-NodeTask -Path '\winkube\runner'
    if ($null -ne $task -and [bool]$task.Enabled -ne $Enabled) {
        $task.Enabled = $Enabled
    }
}

function Start-NodeRunnerTask {
    <#
    .SYNOPSIS
    Enables and starts \winkube\runner; false if there is no such task for this state folder. A second instance is never started.

    .NOTES
    Windows ignores a start while an instance runs, and one that has just closed the batch before may still be ending: WaitMs is how
    long it may take for that. Source: TASK_STATE of the Task Scheduler API, 4 is running, also of a disabled task.
    #>
    param([string]$StateDir, [int]$WaitMs = 0)

    $task = Get-NodeTask -Path '\winkube\runner'
    if (-not (Test-NodeRunnerTask -Task $task -StateDir $StateDir)) {
        return $false
    }
    if (-not [bool]$task.Enabled) {
        $task.Enabled = $true
    }
    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    while ([int]$task.State -eq 4 -and $watch.ElapsedMilliseconds -lt $WaitMs) {
        [System.Threading.Thread]::Sleep(100)
    }
    if ([int]$task.State -ne 4) {
        $null = $task.Run($null)
    }
    return $true
}

function Clear-NodeRunnerNote {
    <# .SYNOPSIS Forgets the starts of the runner and what ended them: they are those of one batch. #>
    param([string]$StateDir)

    foreach ($name in @('runner-starts.log', 'runner-error.txt')) {
        Remove-NodeFileQuietly -Path (Join-NodePath -Folder $StateDir -Name $name)
    }
}

function Read-NodeRunnerError {
    <# .SYNOPSIS What ended the last start of the runner outside an op, as the task's command has noted it; empty if nothing did. #>
    param([string]$StateDir)

    $path = Join-NodePath -Folder $StateDir -Name 'runner-error.txt'
    if (-not [System.IO.File]::Exists($path)) {
        return ''
    }
    $text = [string](Read-NodeText -Path $path).Trim()
    return [string]$text.Substring(0, [System.Math]::Min(1000, $text.Length))
}

function Save-NodeRunner {
    <# .SYNOPSIS Puts the runner that was sent, if one was, into the state folder. #>
    param([string]$StateDir, [object]$Text)

    if ($null -ne $Text) {
        [byte[]]$bytes = (New-Object System.Text.UTF8Encoding($false)).GetBytes([string]$Text)
        Write-NodeFile -Path (Join-NodePath -Folder $StateDir -Name 'runner.ps1') -Bytes $bytes
    }
}
