#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""vpp_processes.py SOURCE: prints SOURCE with the calls in each compute() of an accelerator as processes.

A compute() with one call stays as it is. With several, each call gets a thread; one that FREE_RUNNING
names becomes an hls::task, which is called again while others wait. Line numbers stay; a line before
the first one declares what FREE_RUNNING replaces in the accelerator's class.
"""
import re
import sys

HEAD = re.compile(r"\b(\w+)\s*::\s*compute\s*\([^{;]*\)\s*\{")
CALL = re.compile(r"\s*(\w+)\s*\(.*\)\s*", re.DOTALL)
WORDS = {"if", "for", "while", "switch", "return", "assert"}


def blanked(text):
    """Comments and literals as blanks, so that every position stays."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#[^\n]*', re.DOTALL | re.MULTILINE)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def statements(code, begin):
    """Ends of the body that begins at `begin`, and of its statements outside of blocks."""
    found, depth, first = [], 0, begin
    for at in range(begin, len(code)):
        if code[at] in "({[":
            depth += 1
        elif code[at] in ")}]":
            depth -= 1
            if depth < 0:
                return at, found
            if depth == 0 and code[at] == "}":
                first = at + 1
        elif code[at] == ";" and depth == 0:
            found.append((first, at))
            first = at + 1
    raise SystemExit("vpp_processes.py: a compute() has no end")


def with_processes(text):
    """The declarations and the new text."""
    code = blanked(text)
    edits, names = [], set()
    for head in HEAD.finditer(code):
        end, all_statements = statements(code, head.end())
        calls = []
        for first, last in all_statements:
            match = CALL.fullmatch(code[first:last])
            if match and match.group(1) not in WORDS:
                calls.append((first + match.start(1), last + 1, match.group(1)))
        if len(calls) < 2:
            continue
        names.update(name for _, _, name in calls)
        edits.append((head.end(), head.end(), " ::vpp::Region vpp_region;"))
        for number, (first, last, name) in enumerate(calls):
            call = text[first:last]
            edits.append((first, last, f"static ::vpp::Process<vpp_free_{name}::value> vpp_process_{number}; "
                          f"vpp_process_{number}.start(vpp_region, [&] {{ {call} }});"))
        edits.append((end, end, " vpp_region.join(); "))
    for first, last, new in sorted(edits, reverse=True):
        text = text[:first] + new + text[last:]
    return "".join(f"struct vpp_free_{name} {{ enum {{ value = 0 }}; }}; " for name in sorted(names)), text


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("vpp_processes.py SOURCE")
    with open(sys.argv[1], encoding="utf-8") as source:
        declarations, new_text = with_processes(source.read())
    print(declarations)
    print(f'#line 1 "{sys.argv[1]}"')
    print(new_text, end="")
