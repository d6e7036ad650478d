"""Public cases of broken Windows nodes, and healthy ones, told to the diagnosis: does it name the cause first?

A case (cases/*.yml) says where it comes from (`source`), what was seen there (`networks`, `endpoints`, .. as text that
was pasted, `files`, `services`, `adapters`, `logs`, the Node; or one `message`), and the id of the finding that has to
come first. `form: composed` says that the thread tells what was seen and the text is set after it, or after the format
string of the program; without it the text stands in the thread, shortened. A listing of a healthy node (healthy/*.yml)
is to be without a finding. What a case expects is judged by the thread, never by what the code says today.

frozen.yml and frozen-windows.yml have texts that no rule is improved on: labels first, then the first run. A failure
there may be read; what mends it is shown by another text or by upstream's source, which the commit names.

`make judge` prints what each case gets and ends with one line of JSON.
"""
