# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scheduled tasks that start the node's runner, which then does what is due (docs/protocol.md, sections 6 and 7)."""

from __future__ import annotations

import base64

from ..engine.batch import Op
from ..engine.powershell import literal
from ..engine.tools import SYSTEM32, run

SCHTASKS = SYSTEM32 + r"\schtasks.exe"
POWERSHELL = SYSTEM32 + r"\WindowsPowerShell\v1.0\powershell.exe"
RUNNER = r"\runner.ps1"
NO_TASK = 1
"""schtasks' exit code if no task has that name."""


def create(path: str, file: str) -> Op:
    """Make or replace the task from the XML in `file`."""
    return run(SCHTASKS, "/Create", "/TN", path, "/XML", file, "/F")


def delete(path: str) -> Op:
    """Delete the task if it exists."""
    return run(SCHTASKS, "/Delete", "/TN", path, "/F", ok_exit=(0, NO_TASK))


def xml(state_dir: str, about: str, *, since: str, every: str) -> bytes:
    """The task that starts the runner from the UTC time `since`, repeated each `every` (`PT5M`), also after a missed
    start; in the encoding that schtasks.exe takes.

    Windows makes up for a missed start (StartWhenAvailable) only if the task repeats forever or has an end. Source:
    learn.microsoft.com, ITaskSettings::get_StartWhenAvailable.
    """
    script = (
        "$ErrorActionPreference = 'Stop'; "
        f"& ([ScriptBlock]::Create([IO.File]::ReadAllText({literal(state_dir + RUNNER)}))) "
        f"-StateDir {literal(state_dir)}"
    )
    encoded = base64.b64encode(script.encode("utf-16-le")).decode()
    text = f"""<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>{about}</Description>
  </RegistrationInfo>
  <Triggers>
    <TimeTrigger>
      <Repetition>
        <Interval>{every}</Interval>
        <StopAtDurationEnd>false</StopAtDurationEnd>
      </Repetition>
      <StartBoundary>{since}</StartBoundary>
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
    <Enabled>true</Enabled>
    <Hidden>false</Hidden>
    <RunOnlyIfIdle>false</RunOnlyIfIdle>
    <WakeToRun>false</WakeToRun>
    <ExecutionTimeLimit>PT3H</ExecutionTimeLimit>
    <Priority>4</Priority>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>{POWERSHELL}</Command>
      <Arguments>-NoProfile -NonInteractive -EncodedCommand {encoded}</Arguments>
    </Exec>
  </Actions>
</Task>
"""
    return b"\xff\xfe" + text.encode("utf-16-le")
