# SPDX-License-Identifier: Apache-2.0
"""Pages: the root README and its neighbours stay short, and relative links lead to files of the tree.

A link is [text](target) outside code. Links with a scheme (https:) and links within a page (#...)
are not looked at; of target#heading the heading is looked for in the page that it names.
"""

import posixpath
import re

from source_tree import Finding

LONGEST_PAGES = {"README.md": 130, "ARCHITECTURE.md": 150, "CONTRIBUTING.md": 80}
FENCE = re.compile(r"^\s*(```|~~~)")
CODE_SPAN = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")


def check(tree):
    findings = []
    known = set(tree.files)
    folders = {parent for path in known for parent in parents(path)}
    for path in tree.with_suffix({".md"}):
        text = tree.text(path)
        num_lines = text.count("\n")
        longest = LONGEST_PAGES.get(path, num_lines)
        if num_lines > longest:
            findings.append(Finding(path, 1, f"page has {num_lines} lines, budget {longest}"))
        for line, target in links(text):
            message = complaint(tree, path, target, (known, folders))
            if message:
                findings.append(Finding(path, line, f"link to '{target}': {message}"))
    return findings


def parents(path):
    while path:
        path = posixpath.dirname(path)
        yield path or "."


def lines_outside_code(text):
    in_fence = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            in_fence = not in_fence
        elif not in_fence:
            yield number, line


def links(text):
    for number, line in lines_outside_code(text):
        for match in LINK.finditer(CODE_SPAN.sub("", line)):
            if not SCHEME.match(match[1]) and not match[1].startswith("#"):
                yield number, match[1]


def complaint(tree, path, target, places):
    known, folders = places
    name, _, anchor = target.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    if file not in known and file not in folders:
        return "there is no such file"
    if anchor and file in known and anchor not in anchors(tree.text(file)):
        return f"{file} has no heading '{anchor}'"
    return None


def anchors(text):
    """Headings as GitHub names them: lower case, punctuation dropped, blanks as '-'."""
    return {re.sub(r"[^\w\- ]", "", match[1].lower()).replace(" ", "-")
            for _, line in lines_outside_code(text) if (match := HEADING.match(line))}
