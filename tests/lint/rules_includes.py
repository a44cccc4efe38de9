# SPDX-License-Identifier: Apache-2.0
"""Includes point one way: apps -> {server, engine}, engine -> {model, planner, collectives} -> transport, tensor -> common,
server -> {trace, common}, and host -> drivers -> {gpu_kernels, fpga_hls}.

A quoted include is looked up beside the file, then in the include roots; what it finds decides. Host
code sees of the drivers only the contracts (drivers/device); a driver sees host/common, host/tensor,
drivers/device and its own folder. Vendor headers stay inside the driver of that vendor. The rooms of
bitstreams point one way too: compiler -> tools -> xclbin -> host/common.
"""

import posixpath
import re

from cpp_text import mask_comments
from source_tree import C_FAMILY, Finding

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)
ROOTS = ("host", "drivers", "fpga_hls", "gpu_kernels", "tests", "")

LEAVES = {"common"}
BELOW_MODEL = LEAVES | {"tensor", "trace"}
BELOW_ENGINE = BELOW_MODEL | {"model", "planner", "transport", "collectives"}
HOST_MAY_USE = {
    "common": set(),
    "tensor": LEAVES,
    "transport": LEAVES,
    "trace": LEAVES | {"tensor"},
    "model": BELOW_MODEL,
    "planner": BELOW_MODEL,
    "collectives": BELOW_MODEL | {"transport"},
    "engine": BELOW_ENGINE,
    "training": BELOW_ENGINE,
    "simulation": BELOW_ENGINE | {"engine"},
    "server": LEAVES | {"trace"},
    "apps": BELOW_ENGINE | {"engine", "server", "simulation", "training"},
}
WITHOUT_DRIVERS = {"common", "tensor", "transport", "server"}
# The folders of the collectives, each with those it may use ("": the files beside the folders). Those files may use all but
# what stands above them.
COLLECTIVES_MAY_USE = {
    "frames": set(),
    "aggregator": {"frames"},
    "codec": {"frames"},
    "scheme": {"frames", "aggregator", "codec"},
    "selection": {"frames", "aggregator", "codec", "scheme"},
    "simulation": {"frames", "aggregator", "codec", "scheme", "selection"},
    "sparsifier": {"frames", "aggregator", "codec", "scheme", "selection", ""},
}
ABOVE_THE_CALLS = {"simulation", "sparsifier"}
# Gradients made up for measurements, not what random_subset.h gives to sparsifiers as well: their users.
GENERATORS = re.compile(r"^host/tensor/sparse/generate/(?!random_subset\.h)")
GENERATOR_USERS = ("host/tensor/sparse/generate/", "host/collectives/simulation/", "host/apps/")
CARD_INTERFACE = re.compile(r"^fpga_hls/\w+/abi\.h$")
# How a card runs the processes of a kernel.
KERNEL_RUNTIME = re.compile(r"^fpga_hls/runtime/|^fpga_hls/include/tandem_channel\.h$")

VENDORS = (
    ("CUDA", re.compile(r"^(cuda|cublas|cudnn|nccl|nvtx)[\w/]*\.h|^cuda/|^cub/|^cutlass/"),
     ("drivers/cuda/", "gpu_kernels/", "host/transport/nccl/", "host/common/nccl_library.")),
    ("XRT", re.compile(r"^(xrt/|xrt\.h|xclbin\.h|xclhal2|ert\.h|experimental/xrt_)"),
     ("drivers/xrt/", "drivers/emulation/", "bitstreams/")),
    ("OpenCL", re.compile(r"^CL/"),
     ("drivers/opencl/", "drivers/emulation/opencl_", "drivers/emulation/xrt_shim/opencl/")),
)
ANYTHING_GOES = ("tests/", "benchmarks/", "examples/")
# Example programs beside a kernel, written against a vendor's API and nothing of ours.
VENDOR_EXAMPLE = re.compile(r"^fpga_hls/\w+/host_\w+\.cpp$")
BITSTREAM_ROOMS = {"xclbin": set(), "tools": {"xclbin"}, "compiler": {"xclbin", "tools"},
                   "system_compiler": set()}
# Compiled with kernels, so it includes the headers that v++ gives to kernels.
KERNEL_GLUE = "bitstreams/compiler/glue/"
# The check of an xclbin that needs no XRT library.
XCLBIN_BOUNDS = "drivers/xrt/card/xclbin_bounds.h"
# What `tandem card` shares with emulated cards and needs none: scripts of faults, and how to ask a card.
CARD_WORDS = ("drivers/emulation/faults/", "drivers/emulation/protocol/watch_area.h")
# Who reads and builds xclbin files: the emulated card, and the command that makes them.
BITSTREAM_USERS = ("drivers/emulation/", "host/apps/")


def check(tree):
    findings = []
    known = set(tree.files)
    for path in tree.with_suffix(C_FAMILY):
        text = mask_comments(tree.text(path))
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            target = resolve(path, match[2], known)
            message = (complaint(path, target) if target
                       else vendor_complaint(path, match[2]))
            if message:
                findings.append(Finding(path, line, f'includes "{match[2]}": {message}'))
    return findings


def resolve(path, name, known):
    """The file of this repository that `name` means, or None."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    for candidate in (beside, *(posixpath.join(root, name) for root in ROOTS)):
        if candidate in known:
            return candidate
    return None


def vendor_complaint(path, name):
    if VENDOR_EXAMPLE.match(path):
        return None
    for vendor, pattern, homes in VENDORS:
        if pattern.search(name) and not path.startswith(homes + ANYTHING_GOES):
            return f"{vendor} headers belong in {', '.join(homes)}"
    return None


def complaint(path, target):
    if path.startswith(ANYTHING_GOES):
        return None
    if target.startswith("bitstreams/") and path.startswith(BITSTREAM_USERS):
        return None
    top = path.split("/")[0]
    rule = {"host": host_complaint, "drivers": driver_complaint,
            "bitstreams": bitstream_complaint}.get(top)
    if rule:
        return rule(path, target)
    if not target.startswith(top + "/"):
        return f"{top} uses nothing of {target.split('/')[0]}"
    return None


def host_complaint(path, target):
    folder, parts = path.split("/")[1], target.split("/")
    if folder not in HOST_MAY_USE:
        return f"host/{folder} is not a folder of the plan; give it a place in rules_includes.py"
    if GENERATORS.match(target) and not path.startswith(GENERATOR_USERS):
        return "generated gradients are for measurements: the simulation and the apps"
    if parts[0] == "host":
        if folder == parts[1] == "collectives":
            return collectives_complaint(path.split("/")[2:], parts[2:])
        allowed = HOST_MAY_USE[folder] | {folder}
        return None if parts[1] in allowed else f"host/{folder} may not use host/{parts[1]}"
    if target.startswith("drivers/device/") and folder not in WITHOUT_DRIVERS:
        return None
    if target.startswith(CARD_WORDS) and folder == "apps":
        return None
    return f"host/{folder} may not use {'/'.join(parts[:2])}"


def collectives_complaint(path, target):
    """`path`, `target`: below host/collectives."""
    folder, used = (parts[0] if len(parts) > 1 else "" for parts in (path, target))
    allowed = COLLECTIVES_MAY_USE.get(folder, set(COLLECTIVES_MAY_USE) - ABOVE_THE_CALLS)
    if folder and folder not in COLLECTIVES_MAY_USE:
        return f"host/collectives/{folder} is not a folder of the plan; give it a place in rules_includes.py"
    if used == folder or used in allowed:
        return None
    return f"host/collectives/{folder} may not use host/collectives/{used or target[0]}"


def driver_complaint(path, target):
    folder = path.split("/")[1]
    if folder.endswith(".cpp"):  # the registry names every backend
        is_backend = re.match(r"^drivers/\w+/(backend|registry)\.h$", target)
        return None if is_backend or target.startswith("host/common/") else "only backends are named here"
    allowed = [f"drivers/{folder}/", "drivers/device/", "host/common/", "host/tensor/"]
    if folder == "cuda":
        allowed.append("gpu_kernels/")
    if target.startswith(tuple(allowed)):
        return None
    if folder == "emulation" and KERNEL_RUNTIME.match(target):
        return None
    if folder == "emulation" and target == XCLBIN_BOUNDS:
        return None
    if folder == "xrt" and CARD_INTERFACE.match(target):
        return None
    return f"drivers/{folder} may not use {'/'.join(target.split('/')[:2])}"


def bitstream_complaint(path, target):
    room, parts = path.split("/")[1], target.split("/")
    if room not in BITSTREAM_ROOMS:
        return f"bitstreams/{room} is no room of C++ sources; give it a place in rules_includes.py"
    if path.startswith(KERNEL_GLUE):
        is_kernel_header = target.startswith((KERNEL_GLUE, "fpga_hls/include/"))
        return None if is_kernel_header else "kernels are compiled where only glue and HLS headers are"
    if parts[0] == "bitstreams":
        allowed = BITSTREAM_ROOMS[room] | {room}
        return None if parts[1] in allowed else f"bitstreams/{room} may not use bitstreams/{parts[1]}"
    return None if target.startswith("host/common/") else f"bitstreams may not use {'/'.join(parts[:2])}"
