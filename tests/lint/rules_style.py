# SPDX-License-Identifier: Apache-2.0
"""What a file says and is called: licence line, opening comment, names, and words that must not stay.

The lint's own folder names the forbidden words and is left out of the checks for them.
"""

import pathlib
import re

from cpp_text import mask_code
from source_tree import C_FAMILY, HEADERS, Finding

SPDX = "SPDX-License-Identifier: Apache-2.0"
HASH_FAMILY = {".py", ".sh", ".cmake"}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "manager", "misc", "v2", "old"}
# Users' sources include these by their names.
GIVEN_NAMES = {"fpga_hls/include/ap_utils.h", "fpga_hls/include/etc/ap_utils.h", "fpga_hls/include/utils/x_hls_utils.h"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.}])/(?:work|root|home/\w+)/")
GETENV = re.compile(r"\b(?:secure_)?getenv\s*\(")
GETENV_PLACES = ("host/apps/", "bitstreams/tools/", "bitstreams/compiler/vpp/", "bitstreams/system_compiler/",
                 "drivers/emulation/", "tests/", "benchmarks/", "scripts/",
                 # Of processes that `tandem trace-comm` has started.
                 "host/trace/communication/launcher_rank.cpp", "host/trace/communication/process_recorder.cpp")
TEXT = C_FAMILY | HASH_FAMILY | {".txt", ".md", ".json", ".toml", ".cfg", ".yml", ".js", ".html"}
OWN_FOLDER = "tests/lint/"


def check(tree):
    findings = []
    for path in tree.files:
        findings += check_name(path)
        suffix = pathlib.PurePosixPath(path).suffix
        if suffix not in TEXT:
            continue
        text = tree.text(path)
        if suffix in C_FAMILY:
            findings += check_opening(path, text) + check_cpp(path, suffix, text)
        elif suffix in HASH_FAMILY or path.endswith("CMakeLists.txt"):
            lines = text.splitlines()[:2]
            if text.strip() and not any(line == "# " + SPDX for line in lines):
                findings.append(Finding(path, 1, f"must start with '# {SPDX}'"))
        if not path.startswith(OWN_FOLDER):
            findings += check_words(path, suffix, text)
    return findings


def check_name(path):
    if path in GIVEN_NAMES:
        return []
    words = re.split(r"[_\-./]", path.lower())
    return [Finding(path, 1, f"the name says '{word}'; name the file for what it does")
            for word in words if word in FORBIDDEN_NAMES]


def check_opening(path, text):
    lines = text.splitlines() + [""] * 3
    if lines[0] != "// " + SPDX:
        return [Finding(path, 1, f"must start with '// {SPDX}'")]
    if lines[1] != "//" or not re.match(r"// \S", lines[2]):
        return [Finding(path, 2, "an empty '//' line and what this file is for must follow")]
    return []


def check_cpp(path, suffix, text):
    code = mask_code(text)
    findings = []
    if suffix in HEADERS:
        findings += at_each(re.compile(r"\busing\s+namespace\b"), path, code,
                            "no 'using namespace' in a header")
        # A "-inl.h" of Highway is included once per target on purpose, these once per header.
        again = path.endswith("-inl.h") or "/tandem_macros_" in path
        if "#pragma once" not in text and not again:
            findings.append(Finding(path, 1, "a header has #pragma once"))
    if not path.startswith(GETENV_PLACES):
        findings += at_each(GETENV, path, code,
                            "configuration comes in a struct; only programs read the environment")
    return findings


def check_words(path, suffix, text):
    findings = []
    if suffix not in {".txt", ".md", ".json"} or path.endswith("CMakeLists.txt"):
        findings += at_each(UNFINISHED, path, text, "finish it, or leave it out")
    findings += at_each(MACHINE_PATH, path, text, "a path of one machine")
    return findings


def at_each(pattern, path, text, message):
    return [Finding(path, text.count("\n", 0, m.start()) + 1, f"'{m[0].strip()}': {message}")
            for m in pattern.finditer(text)]
