# SPDX-License-Identifier: Apache-2.0
"""Every kernel keeps its variables in registers: no stack frame, where spilled registers would be.

resources_test.py NVCC HOST_COMPILER GPU_KERNELS INSTANCES LIBRARY HOPPER_OBJECTS ARCHITECTURE...
reads what the build made of the sources of the folder and of INSTANCES (those that CMake writes) out
of LIBRARY, for each architecture ("90", "80-real"); what the library lacks is compiled here. A kernel
that spills and one that hurries are compiled too, to see that both are found.
Sources that include common/wgmma.cuh, themselves or through a header beside them, are for sm_90a
alone. ptxas must not say that it gives up their products' overlap or their division of registers
(C75xx, but C7519, which adds what a fence would). The build keeps what ptxas says beside their objects
(HOPPER_OBJECTS, separated by semicolons; gpu_kernels/keep_messages.sh).
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

from device_code import CUBIN, PTX, code_of, kernels_of

GIVEN_UP = re.compile(r"\(C75(?!19)\d\d\).*")
ENTRY = re.compile(r"\.entry (\w+)")
OPERATION = re.compile(r"^\s*(?:@!?[%\w]+\s+)?([a-z][\w.:]*)", re.MULTILINE)
ACCESS = re.compile(r"(?:ld|st|atom|red|cp\.async|cp\.reduce)(?:\.|$)")
ELSEWHERE = re.compile(r"\.(?:shared|param|local|const)\b")
WAIT, WEIGHTS, NEVER_LAUNCHED = "griddepcontrol.wait", "ld.global.cs", "compiled_as_all_others"
INCLUDE = re.compile(r'^#include "(.+)"', re.MULTILINE)
PROBE = """
__global__ void __launch_bounds__(1024) spills(float* values) {
  float mine[128];
  for (int i = 0; i < 128; ++i) mine[i] = values[i * 1024 + threadIdx.x];
  for (int turn = 0; turn < 8; ++turn) {
    for (int i = 0; i < 128; ++i) mine[i] = mine[i] * mine[(7 * i + 3) % 128] + mine[(i + turn) % 128];
  }
  for (int i = 0; i < 128; ++i) values[i * 1024 + threadIdx.x] = mine[i];
}
__global__ void waits(float* values) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  values[threadIdx.x] = 1.0f;
}
__global__ void hurries(float* values) {
  values[threadIdx.x] = 1.0f;
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
"""


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


class Toolkit:
    """The compiler, for what the library does not show."""

    def __init__(self, nvcc, host_compiler, root, folder):
        self.command = [nvcc, "-ccbin", host_compiler, "-std=c++20", "-O3", "-I", root]
        self.folder = pathlib.Path(folder)

    def run(self, source, *options):
        command = [*self.command, *options, source]
        process = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if process.returncode != 0:
            raise SystemExit(process.stdout + process.stderr)
        return process.stdout + process.stderr

    def compile(self, source, kind, number):
        """kind: "cubin" or "ptx"."""
        to = self.folder / f"{source.stem}.{number}.{kind}"
        self.run(source, f"-{kind}", f"-arch=sm_{number}", "-o", to)
        return to.read_bytes()

    def object_code(self, source):
        to = self.folder / f"{source.stem}.o"
        self.run(source, "-gencode=arch=compute_90,code=[compute_90,sm_90]", "-c", "-o", to)
        return list(code_of(to.read_bytes()))


def messages_of(source, hopper_objects):
    """What ptxas said when the build compiled a source for sm_90a."""
    found = [path for path in hopper_objects if path.name == f"{source.name}.o"]
    if not found:
        raise SystemExit(f"{source.name}: includes common/wgmma.cuh, and is not among the sources for sm_90a")
    said = pathlib.Path(f"{found[0]}.messages").read_text()
    if "ptxas info" not in said:
        raise SystemExit(f"{found[0]}.messages: ptxas said nothing, so -Xptxas=-v is missing")
    return said


def library_code(library, folder):
    """{name: code_of()} of the sources whose objects are in a static library."""
    subprocess.run(["ar", "x", pathlib.Path(library).resolve()], cwd=folder, check=True)
    return {path.stem: list(code_of(path.read_bytes())) for path in pathlib.Path(folder).glob("*.cu.o")}


def check_source(toolkit, source, code, numbers, said=""):
    """(kernels, complaints) of a source with such code."""
    cubins = {str(number): content for kind, number, content in code if kind == CUBIN}
    kernels = {number: kernels_of(cubins.get(number) or toolkit.compile(source, "cubin", number))
               for number in numbers}
    complaints = [f"{source.name}: {sentence}" for sentence in GIVEN_UP.findall(said)]
    for number, found in kernels.items():
        complaints += [f"{source.name} sm_{number}: {name}: {registers} registers, {frame_bytes} bytes of stack frame"
                       for name, frame_bytes, registers in found if frame_bytes != 0]
    if "90" in numbers:
        ptx = next((content for kind, number, content in code if kind == PTX and number == 90 and content), None)
        text = (ptx or toolkit.compile(source, "ptx", "90")).decode()
        complaints += [f"{source.name}: {name}: {what}" for name, what in hasty(text)]
        for name in set(ENTRY.findall(text)) - {kernel.name for kernel in kernels["90"]}:
            complaints.append(f"{source.name}: the cubin lacks the kernel {name}")
    return [kernel for found in kernels.values() for kernel in found], complaints


def check_probe(toolkit, folder):
    """Complaints unless the reader of objects finds what is wrong with a known source."""
    probe = pathlib.Path(folder) / "probe.cu"
    probe.write_text(PROBE)
    kernels, found = check_source(toolkit, probe, toolkit.object_code(probe), ["90"])
    expected = {"spills": ("stack frame", "never waits"), "hurries": ("in front of its wait",), "waits": ()}
    seen = {name: all(any(name in line and what in line for line in found) for what in whats)
            for name, whats in expected.items()}
    if len(kernels) == 3 and len(found) == 3 and all(seen.values()):
        return []
    return [f"device_code.py misreads the objects of this toolkit: {kernels}, {found}"]


def main(nvcc, host_compiler, root, instances, library, hopper, *architectures):
    numbers = sorted({name.split("-")[0] for name in architectures})
    hopper_objects = [pathlib.Path(path) for path in hopper.split(";")]
    sources = sorted([*pathlib.Path(root).rglob("*.cu"), *pathlib.Path(instances).rglob("*.cu")])
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        toolkit = Toolkit(nvcc, host_compiler, root, folder)
        objects = library_code(library, folder)

        def check(source):
            code = objects.get(source.name, [])
            if needs_hopper(root, source):
                return check_source(toolkit, source, code, ["90"], messages_of(source, hopper_objects))
            return check_source(toolkit, source, code, numbers)

        results = [*pool.map(check, sources)]
        complaints = check_probe(toolkit, folder)
    for _, found in results:
        complaints += found
    kernels = sum(len(found) for found, _ in results)
    print(*complaints, f"{kernels} kernels, {len(complaints)} failures", sep="\n")
    return 1 if complaints or kernels == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
