# Parses texts: a JSON list of {name, text} on standard input, a line for each error on standard output.
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
foreach ($one in (ConvertFrom-Json -InputObject ([Console]::In.ReadToEnd()))) {
    $tokens = $null
    $errors = $null
    $null = [Management.Automation.Language.Parser]::ParseInput($one.text, [ref]$tokens, [ref]$errors)
    foreach ($problem in $errors) {
        [Console]::Out.WriteLine("$($one.name):$($problem.Extent.StartLineNumber): $($problem.Message)")
    }
}
