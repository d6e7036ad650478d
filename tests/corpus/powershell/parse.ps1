# What PowerShell's own parser says of texts: a JSON list of strings on standard input, a JSON list of answers on standard output.
# `errors` are its refusals; `newer` is what it reads and Windows PowerShell 5.1 refuses.
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
[Console]::InputEncoding = [Console]::OutputEncoding = New-Object System.Text.UTF8Encoding $false

# The operator as it is written, of what came with PowerShell 7; empty for anything else.
function Get-Newer($Node) {
    switch ($Node.GetType().Name) {
        'PipelineChainAst' { if ($Node.Operator -eq 'AndAnd') { '&&' } else { '||' } }
        'TernaryExpressionAst' { '? :' }
        'BinaryExpressionAst' { if ($Node.Operator -eq 'QuestionQuestion') { '??' } }
        'AssignmentStatementAst' { if ($Node.Operator -eq 'QuestionQuestionEquals') { '??=' } }
        'MemberExpressionAst' { if ($Node.NullConditional) { '?.' } }
        'InvokeMemberExpressionAst' { if ($Node.NullConditional) { '?.' } elseif ($Node.GenericTypeArguments) { '[]()' } }
        'IndexExpressionAst' { if ($Node.NullConditional) { '?[]' } }
        'PipelineAst' { if ($Node.Background) { '&' } }
        'ScriptBlockAst' { if ($Node.CleanBlock) { 'clean' } }
    }
}

$texts = ConvertFrom-Json -InputObject ([Console]::In.ReadToEnd())
$answers = @(
    foreach ($text in $texts) {
        $tokens = $null
        $errors = $null
        $ast = [Management.Automation.Language.Parser]::ParseInput($text, [ref]$tokens, [ref]$errors)
        @{
            errors = @(
                foreach ($each in $errors) {
                    @{ id = $each.ErrorId; start = $each.Extent.StartOffset; text = $each.Extent.Text; message = $each.Message }
                }
            )
            newer = @(
                $ast.FindAll({ $true }, $true) | ForEach-Object { Get-Newer $_ }
                # A line that begins with it goes on with the one before.
                $before = 'NewLine'
                foreach ($token in $tokens) {
                    if ($token.Kind -eq 'Pipe' -and $before -eq 'NewLine') { '|' }
                    if ($token.Kind -notin 'Comment', 'LineContinuation') { $before = [string]$token.Kind }
                }
            )
        }
    }
)
[Console]::Out.Write((ConvertTo-Json -InputObject $answers -Depth 4 -Compress))
