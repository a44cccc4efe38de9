# SPDX-License-Identifier: Apache-2.0
"""Every C and C++ file is as clang-format leaves it (.clang-format of the repository)."""

import re
import shutil
import subprocess

from source_tree import C_FAMILY, Finding, Skipped

DIAGNOSTIC = re.compile(r"^(?P<path>[^:\n]+):(?P<line>\d+):\d+: error: code should be", re.MULTILINE)


def check(tree):
    program = shutil.which("clang-format")
    if program is None:
        raise Skipped("clang-format is not installed")
    findings = []
    files = tree.with_suffix(C_FAMILY)
    for begin in range(0, len(files), 50):
        result = subprocess.run([program, "--dry-run", "-Werror", *files[begin:begin + 50]],
                                cwd=tree.root, capture_output=True, text=True, check=False)
        first_lines = {}
        for match in DIAGNOSTIC.finditer(result.stderr):
            first_lines.setdefault(match["path"], int(match["line"]))
        if result.returncode != 0 and not first_lines:
            findings.append(Finding(files[begin], 1, "clang-format failed: " + result.stderr[:500]))
        findings += [Finding(path, line, "not formatted; run clang-format -i on it")
                     for path, line in first_lines.items()]
    return findings
