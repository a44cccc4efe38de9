# SPDX-License-Identifier: Apache-2.0
"""Every kernel keeps its variables in registers: no spills, no stack frame, as the compiler reports.

resources_test.py NVCC HOST_COMPILER GPU_KERNELS ARCHITECTURE... compiles each kernel source of the
folder for each architecture ("90", "80-real") and reads what ptxas says of it. Sources that include
common/wgmma.cuh, themselves or through a header beside them, are compiled for sm_90a alone, and
ptxas must not say that it gives up their products' overlap or their division of registers (C75xx,
but C7519, which adds what a fence would).
What was made for 9.0 must hold common/launch.cuh's rule as well: in a kernel's PTX its first wait for
the launch in front stands before its first end, and before all that touches global memory (loads,
stores, atomic operations, copies; without a state space they count as global), but for weights,
whose loads are marked as streaming. Ways that pass by a wait in a branch are not seen: several
kernels wait in the first turn of a loop.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FUNCTION = re.compile(r"Compiling entry function '(\S+)' for '(\w+)'")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
GIVEN_UP = re.compile(r"\(C75(?!19)\d\d\).*")
ENTRY = re.compile(r"\.entry (\w+)")
OPERATION = re.compile(r"^\s*(?:@!?[%\w]+\s+)?([a-z][\w.:]*)", re.MULTILINE)
ACCESS = re.compile(r"(?:ld|st|atom|red|cp\.async|cp\.reduce)(?:\.|$)")
ELSEWHERE = re.compile(r"\.(?:shared|param|local|const)\b")
WAIT, WEIGHTS, NEVER_LAUNCHED = "griddepcontrol.wait", "ld.global.cs", "compiled_as_all_others"
INCLUDE = re.compile(r'^#include "(.+)"', re.MULTILINE)


def reports(text):
    """(kernel, architecture, stack and spill bytes, registers) of each kernel that ptxas names."""
    found, kernel, frame = [], None, None
    for line in text.splitlines():
        if match := FUNCTION.search(line):
            kernel, frame = match.groups(), None
        elif match := FRAME.search(line):
            frame = tuple(map(int, match.groups()))
        elif (match := USED.search(line)) and kernel:
            found.append((*kernel, frame, int(match[1])))
            kernel = None
    return found


def needs_hopper(root, source):
    """Whether a source includes common/wgmma.cuh, by any way through the folder."""
    seen, ahead = set(), [source]
    while ahead:
        for name in INCLUDE.findall(ahead.pop().read_text()):
            path = pathlib.Path(root) / name
            if name == "common/wgmma.cuh":
                return True
            if name not in seen and path.exists():
                seen.add(name)
                ahead.append(path)
    return False


def touches_global(operation):
    if operation.startswith(WEIGHTS) or not ACCESS.match(operation):
        return False
    return ".global" in operation or not (
        operation.startswith("cp.async") or ELSEWHERE.search(operation))


def hasty(ptx):
    """(kernel, what it does too early) of each kernel of a PTX text that breaks the rule."""
    entries = list(ENTRY.finditer(ptx))
    ends = [entry.start() for entry in entries[1:]] + [len(ptx)]
    for entry, end in zip(entries, ends):
        if NEVER_LAUNCHED in entry[1]:
            continue
        front, wait, _ = ptx[entry.end():end].partition(WAIT)
        if not wait:
            yield entry[1], "never waits for the launch in front"
            continue
        early = {operation for operation in OPERATION.findall(front)
                 if operation in ("ret", "exit") or touches_global(operation)}
        if early:
            yield entry[1], f"in front of its wait stands {', '.join(sorted(early))}"


def compile_report(nvcc, host_compiler, root, source, architectures):
    with tempfile.TemporaryDirectory() as folder:
        command = [nvcc, "-ccbin", host_compiler, "-std=c++20", "-O3", "-Xptxas", "-v", "-I", root,
                   "--keep", "--keep-dir", folder, "-c", source, "-o", pathlib.Path(folder) / "kernel.o"]
        numbers = {name.split("-")[0] for name in architectures}
        for number in ["90a"] if needs_hopper(root, source) else sorted(numbers):
            command.append(f"-gencode=arch=compute_{number},code=sm_{number}")
        process = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if process.returncode != 0:
            raise SystemExit(process.stderr)
        texts = [ptx.read_text() for ptx in pathlib.Path(folder).glob("*.ptx")]
        broken = [kernel for ptx in texts if ".target sm_90" in ptx for kernel in hasty(ptx)]
        has_kernels = any(ENTRY.search(ptx) for ptx in texts)
        return process.stdout + process.stderr, broken, has_kernels


def main(nvcc, host_compiler, root, *architectures):
    failures = kernels = 0
    sources = sorted(pathlib.Path(root).rglob("*.cu"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = list(pool.map(
            lambda source: compile_report(nvcc, host_compiler, root, source, architectures), sources))
    for source, (text, broken, has_kernels) in zip(sources, texts):
        for name, what in broken:
            print(f"{source.name}: {name}: {what}")
            failures += 1
        for sentence in GIVEN_UP.findall(text):
            print(f"{source.name}: {sentence}")
            failures += 1
        if has_kernels and not reports(text):
            print(f"{source.name}: the compiler reports no kernel")
            failures += 1
        for name, architecture, frame, registers in reports(text):
            kernels += 1
            if frame != (0, 0, 0):
                print(f"{source.name} {architecture}: {name}: {registers} registers, stack frame, "
                      f"spill stores and loads of {frame} bytes")
                failures += 1
    print(f"{kernels} kernels, {failures} failures")
    return 1 if failures or kernels == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
