"""What carries a line of a log is taken from it: lists, quotations, Docker's JSON, CRI's head, tables of events."""

from __future__ import annotations

import html
import json

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.words.line import parse
from ansible_collections.winkube.node.plugins.plugin_utils.words.messages import about
from ansible_collections.winkube.node.plugins.plugin_utils.words.records import moment, records

REFUSED = "hcnCreateEndpoint failed in Win32: refused. (0x803b000d)"
ENDED = "The kubelet service terminated unexpectedly."
ERROR = (
    f"New-HnsEndpoint : {REFUSED}\nAt C:\\k\\start.ps1:12 char:2\n+ New-HnsEndpoint\n    + CategoryInfo : NotSpecified"
)


def docker(text: str) -> str:
    """As Docker's driver json-file writes each line."""
    stamp = {"stream": "stderr", "time": "2026-11-20T10:00:00.1Z"}
    return "\n".join(json.dumps({"log": line, **stamp}, separators=(",", ":")) for line in text.splitlines(True))


FORMS = {
    "get-winevent": f"""
   ProviderName: Service Control Manager

TimeCreated                     Id LevelDisplayName Message
-----------                     -- ---------------- -------
11/20/2026 10:00:03 AM        7034 Error            {ENDED} It has done
                                                    this 1 time(s).
11/20/2026 10:00:02 AM        7034 Error            {ENDED}
11/20/2026 9:59:58 AM         1000 Error            {REFUSED}
""",
    "get-winevent in German": f"""
20.11.2026 10:00:03           7034 Fehler           {ENDED}
20.11.2026 10:00:02           7034 Fehler           {ENDED}
20.11.2026 09:59:58           1000 Fehler           {REFUSED}
""",
    "get-eventlog": f"""
   Index Time          EntryType   Source                 InstanceID Message
   ----- ----          ---------   ------                 ---------- -------
    4188 Nov 20 10:00  Error       Service Control M...   3221232506 {ENDED}
    4187 Nov 20 10:00  Error       Service Control M...   3221232506 {ENDED}
    4186 Nov 20 09:59  Error       containerd                      1 {REFUSED}
""",
    "get-winevent | format-list": f"""

TimeCreated  : 11/20/2026 10:00:03 AM
ProviderName : Service Control Manager
Id           : 7034
Message      : {ENDED} It has done
               this 1 time(s).

TimeCreated  : 11/20/2026 10:00:02 AM
ProviderName : Service Control Manager
Id           : 7034
Message      : {ENDED}

TimeCreated  : 11/20/2026 9:59:58 AM
ProviderName : containerd
Id           : 1
Message      : {REFUSED}
""",
    "get-eventlog | format-list": f"""
Index              : 4188
EntryType          : Error
InstanceId         : 3221232506
Message            : {ENDED}
Category           : (0)
Source             : Service Control Manager
TimeGenerated      : 11/20/2026 10:00:03 AM

Index              : 4187
EntryType          : Error
Message            : {ENDED}
Source             : Service Control Manager
TimeGenerated      : 11/20/2026 10:00:02 AM

Index              : 4186
EntryType          : Error
Message            : {REFUSED}
Source             : containerd
TimeGenerated      : 11/20/2026 9:59:58 AM
""",
    "event viewer, copied": "\n".join(
        f"Log Name:      System\nSource:        {source}\nDate:          11/20/2026 {at} AM\nEvent ID:      1\n"
        f"Level:         Error\nUser:          N/A\nDescription:\n{said}\nIt has done this 1 time(s).\n"
        "Event Xml:\n<Event xmlns=\"http://schemas.microsoft.com/win/2004/08/events/event\">\n"
        for source, at, said in (
            ("Service Control Manager", "10:00:03", ENDED),
            ("Service Control Manager", "10:00:02", ENDED),
            ("containerd", "9:59:58", REFUSED),
        )
    ),
    "event viewer, exported": f"""Level,Date and Time,Source,Event ID,Task Category
Error,11/20/2026 10:00:03 AM,Service Control Manager,7034,None,"{ENDED}"
Error,11/20/2026 10:00:02 AM,Service Control Manager,7034,None,"{ENDED}"
Error,11/20/2026 9:59:58 AM,containerd,1,None,"{REFUSED}"
""",
    "a mail": f"""> 11/20/2026 10:00:03 AM 7034 Error {ENDED} It has done
>      this 1 time(s).
> 11/20/2026 10:00:02 AM 7034 Error {ENDED}
> 11/20/2026 9:59:58 AM 1000 Error {REFUSED}
""",
    "a list": f"""- 11/20/2026 10:00:03 AM 7034 Error {ENDED}
- 11/20/2026 10:00:02 AM 7034 Error {ENDED}
- 11/20/2026 9:59:58 AM 1000 Error {REFUSED}
""",
}  # fmt: skip


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_events_of_windows_are_records_in_the_order_of_their_times(text: str) -> None:
    events = [each for each in records(text) if each.moment is not None]
    assert [REFUSED in each.text for each in events] == [True, False, False]
    assert [parse(each.text).program for each in events[1:]] == ["kubelet"] * 2
    times = [each.moment for each in events if each.moment is not None]
    assert times == sorted(times)
    assert [each.number for each in events] == sorted((each.number for each in events), reverse=True)
    assert "hns.policy-refused" in about(text)


@pytest.mark.parametrize(
    ("line", "when"),
    [
        ("11/20/2026 1:02:03 PM 7036 Information x", "2026-11-20 13:02:03"),
        ("11/20/2026 12:02:03 AM 7036 Information x", "2026-11-20 00:02:03"),
        ("11/20/2026 1:02:03\u202fPM 7036 Information x", "2026-11-20 13:02:03"),
        ("20/11/2026 13:02:03 7036 Information x", "2026-11-20 13:02:03"),
        ("20.11.2026 13:02:03 7036 Informationen x", "2026-11-20 13:02:03"),
        ("Error,11/20/2026 1:02:03 PM,x", "2026-11-20 13:02:03"),
        ('"82397","11/20/2026 1:02:03 PM","Information","x"', "2026-11-20 13:02:03"),
        ("4188 Nov 20 13:02  Error x", "2000-11-20 13:02:00"),
        ("Nov 20 13:02:03 win1 kubelet[1]: x", "2000-11-20 13:02:03"),
        ("E1120 13:02:03.1 1 a.go:1] x", "2000-11-20 13:02:03.100000"),
        ("13/13/2026 13:02:03 7036 Error x", "None"),
        ("the certificate of 11/20/2026 1:02:03 PM", "None"),
    ],
)
def test_when_a_line_was_written(line: str, when: str) -> None:
    assert str(moment(line)) == when


@pytest.mark.parametrize("as_pasted", [str, docker, html.escape, lambda text: html.escape(docker(text))])
def test_a_message_of_several_lines_is_one_record_whatever_carries_it(as_pasted: object) -> None:
    assert callable(as_pasted)
    before, after = "I1120 10:00:00.1 1 a.go:1] before", "I1120 10:00:02.1 1 a.go:1] after"
    found = records(as_pasted(f"{before}\n{ERROR}\n{after}\n"))
    assert [each.text for each in found] == [before, " ".join(line.strip() for line in ERROR.splitlines()), after]
    assert [(each.number, each.last) for each in found] == [(1, 1), (2, 5), (6, 6)]


def test_dockers_and_cris_parts_of_a_line_are_joined() -> None:
    stamp = "2026-11-20T10:00:00.123456789Z"
    parts = ("stderr P hcnCreateEnd", "stdout F ready", f"stderr F {REFUSED[12:]}", "stderr F \tat x")
    cri = "\n".join(f"{stamp} {each}" for each in parts)
    assert [each.text for each in records(cri)] == ["ready", f"{REFUSED} at x"]
    assert about(cri) == ("hns.policy-refused",)
    between = f"{stamp} stderr P a\n==> other.log <==\n{stamp} stderr F b"
    assert [each.text for each in records(between)] == ["a", "==> other.log <==", "b"]
    streams = f"{stamp} stdout F listens\n{stamp} stderr F   at x\n{stamp} stdout F   at y"
    assert [each.text for each in records(streams)] == ["listens", "at x", "at y"]
    (one,) = records(f"{docker('hcnCreateEnd')}\n{docker(REFUSED[12:])}")
    assert (one.text, one.number, str(one.moment)) == (REFUSED, 1, "2026-11-20 10:00:00.100000")
    (cut,) = records(f"{stamp} stderr P {REFUSED}")
    assert cut.text == REFUSED


def test_a_stamp_before_a_line_of_a_log_is_its_time() -> None:
    (one,) = records("2026-11-20T10:00:00.1Z E1120 09:00:00.1 7 proxier.go:1] no")
    assert (parse(one.text).program, str(one.moment)) == ("kube-proxy", "2026-11-20 10:00:00.100000")


def test_a_list_of_fields_that_is_no_event_keeps_its_lines() -> None:
    text = "Message : hello\nName : win1\n\nIndex : 3\nNo : 4"
    assert [each.text for each in records(text)] == ["Message : hello", "Name : win1", "Index : 3", "No : 4"]


def test_lines_in_the_order_of_their_times_and_of_two_clocks_stay_as_they_are() -> None:
    rising = "11/20/2026 9:59:58 AM 1 Error a\n11/20/2026 10:00:03 AM 1 Error b"
    mixed = "11/20/2026 10:00:03 AM 1 Error a\nE1120 10:00:00.1 1 a.go:1] b"
    assert [each.number for text in (rising, mixed) for each in records(text)] == [1, 2, 1, 2]
