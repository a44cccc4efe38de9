# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over the product's sources, with the checks of .clang-tidy: tidy.py [--all] <root> <build>.

Looks at what the working tree and the commits of the last day before HEAD changed, the latest first; a header is seen
through a source that includes it. Clean sources are remembered in <build>/tidy-clean.json together with the headers they
read, and are not looked at again. After BUDGET_S no further source begins: the next run goes on there. --all: every
source, without a limit. Sources that a build compiles together are checked together.
Exit code: 0 clean, 1 findings, 77 skipped with the reason.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import tidy_choice

BUDGET_S = 120
TOGETHER = 8


def compile_commands(root, build):
    """Maps each source, relative to root, to (folder, arguments, unity target or None): one of a unity file has a target."""
    commands = {}
    for entry in json.loads((pathlib.Path(build) / "compile_commands.json").read_text()):
        file, target = pathlib.Path(os.path.realpath(entry["file"])), None
        sources = [file]
        if "Unity" in file.parts and file.exists():
            target = str(file.parent)
            sources = [pathlib.Path(os.path.realpath(p)) for p in re.findall(r'#include "([^"]+)"', file.read_text())]
        for source in sources:
            if source.is_relative_to(root):
                commands[source.relative_to(root).as_posix()] = (entry["directory"], arguments_of(entry), target)
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


def batches(paths, commands):
    """Sources of one unity target with equal arguments, at most TOGETHER; the others alone. Keeps the order of firsts."""
    filled, groups = [], {}
    for path in paths:
        _, arguments, target = commands[path]
        group = groups.get((target, tuple(arguments))) if target else None
        if group is None or len(group) == TOGETHER:
            group = []
            filled.append(group)
            groups[(target, tuple(arguments))] = group
        group.append(path)
    return filled


class Tidy:
    """Runs clang-tidy. `seconds`: no batch begins after as many; None: no limit."""

    def __init__(self, program, root, commands, seconds=None):
        self.program, self.root, self.commands = program, root, commands
        self.end = None if seconds is None else time.monotonic() + seconds

    def run(self, source, command):
        folder, arguments, _ = command
        checks = os.path.join(self.root, ".clang-tidy")
        done = subprocess.run([self.program, "--quiet", f"--config-file={checks}", source, "--", *arguments], cwd=folder,
                              capture_output=True, text=True)
        told = done.stdout or done.stderr or f"{source}: clang-tidy ended with code {done.returncode}\n"  # it was killed
        return told if done.returncode else ""

    def one(self, path):
        return self.run(os.path.join(self.root, path), self.commands[path])

    def batch(self, paths):
        """Maps each source to its findings, "" where it is clean; empty where the time was over."""
        if self.end is not None and time.monotonic() >= self.end:
            return {}
        if len(paths) > 1:
            with tempfile.NamedTemporaryFile("w", suffix=".cpp") as together:
                together.write("".join(f'#include "{os.path.join(self.root, path)}"\n' for path in paths))
                together.flush()
                if not self.run(together.name, self.commands[paths[0]]):
                    return {path: "" for path in paths}
        return {path: self.one(path) for path in paths}

    def all(self, paths):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = {}
            for result in pool.map(self.batch, batches(paths, self.commands)):
                results.update(result)
        return results


def check(tidy, sources, wanted, memory):
    """Looks at those of `wanted` that are not known as clean. Returns the findings and how many were looked at and left."""
    known = json.loads(memory.read_text()) if memory.exists() else {}
    digests = {path: sources.digest(path) for path in wanted}
    pending = [path for path in wanted if known.get(path) != digests[path]]
    results = tidy.all(pending)
    known.update({path: digests[path] for path, text in results.items() if not text})
    written = memory.with_suffix(".new")  # a run that is killed leaves no half of a file
    written.write_text(json.dumps(known, indent=0, sort_keys=True))
    written.replace(memory)
    return [text for text in results.values() if text], len(results), len(pending) - len(results)


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
    sources = tidy_choice.Sources(root, commands)
    changed = sources.paths if everything else tidy_choice.recent_changes(root)
    if changed is None:
        print("skipped: git cannot tell what changed")
        return 77
    tidy = Tidy(program, root, commands, None if everything else BUDGET_S)
    findings, seen, left = check(tidy, sources, sources.that_show(changed), pathlib.Path(build) / "tidy-clean.json")
    print("".join(findings))
    print(f"tidy: {seen} sources, {len(findings)} with findings" + (f"; {left} are left for the next run" if left else ""))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
