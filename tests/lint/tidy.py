# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over the product's sources, with the checks of .clang-tidy: tidy.py [--all] <root> <build>.

Without --all it looks at what the working tree and the last commit changed, at most CHANGED_FILES
files, because the whole tree takes some ten minutes. Sources that a build compiles several at a time
(unity) are checked one by one. Exit code: 0 clean, 1 findings, 77 skipped with the reason.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

CHANGED_FILES = 30
# Without libtorch's sources: clang 14 does not compile the headers of libtorch 1.13 as C++20.
PRODUCT = re.compile(r"^(host/(?!training/trainer/torch/)|drivers/|bitstreams/).*\.cpp$")


def changed_files(root):
    """Files that differ from the last commit's parent; None where git cannot tell."""
    for base in ("HEAD~1", "HEAD"):
        listed = subprocess.run(["git", "-C", root, "diff", "--name-only", base], capture_output=True, text=True)
        if listed.returncode == 0:
            return sorted(listed.stdout.split())
    return None


def compile_commands(root, build):
    """Maps each source, relative to root, to (folder, arguments), and finds the sources of unity files."""
    commands = {}
    for entry in json.loads((pathlib.Path(build) / "compile_commands.json").read_text()):
        file = pathlib.Path(os.path.realpath(entry["file"]))
        sources = [file]
        if "Unity" in file.parts and file.exists():
            sources = [pathlib.Path(os.path.realpath(p)) for p in re.findall(r'#include "([^"]+)"', file.read_text())]
        for source in sources:
            if source.is_relative_to(root):
                commands[source.relative_to(root).as_posix()] = (entry["directory"], arguments_of(entry))
    return commands


def arguments_of(entry):
    """What clang needs of the compile command: include paths, definitions, the standard. Not g++'s precompiled header."""
    wanted = ("-I", "-D", "-std", "-isystem", "-include")
    words, kept, index = shlex.split(entry["command"]), [], 0
    while index < len(words):
        if words[index] in ("-isystem", "-include"):
            if not words[index + 1].endswith("cmake_pch.hxx"):
                kept += words[index:index + 2]
            index += 1
        elif words[index].startswith(wanted):
            kept.append(words[index])
        index += 1
    return kept


def tidy(program, root, path, command):
    folder, arguments = command
    run = subprocess.run([program, "--quiet", os.path.join(root, path), "--", *arguments], cwd=folder,
                         capture_output=True, text=True)
    return run.stdout if run.returncode else ""


def main(arguments):
    everything = "--all" in arguments
    root, build = (os.path.realpath(a) for a in arguments if a != "--all")
    program = shutil.which("clang-tidy")
    if not program:
        print("skipped: clang-tidy is not installed")
        return 77
    if not os.path.exists(os.path.join(build, "compile_commands.json")):
        print("skipped: configure with CMAKE_EXPORT_COMPILE_COMMANDS=ON, as the presets do")
        return 77
    commands = compile_commands(root, build)
    wanted = sorted(commands) if everything else changed_files(root)
    if wanted is None:
        print("skipped: git cannot tell what changed")
        return 77
    chosen = [path for path in wanted if path in commands and PRODUCT.match(path)]
    if not everything:
        chosen = chosen[:CHANGED_FILES]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = [f for f in pool.map(lambda path: tidy(program, root, path, commands[path]), chosen) if f]
    print("".join(findings))
    print(f"tidy: {len(chosen)} files, {len(findings)} with findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
