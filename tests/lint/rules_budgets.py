# SPDX-License-Identifier: Apache-2.0
"""Budgets: file 400 lines (700 hard), opening comment 10 (20 hard), function 40 (80 hard; a kernel 120), parameters 6 (8 hard).

Beyond the first figure is a warning, beyond the hard one an error. The parameters of an HLS kernel's
top function are its ports and are not counted; nor are those of a test program's cases, nor those that
OpenCL gives the functions of the layer.
"""

import ast
import re

from cpp_text import Function, functions
from source_tree import C_FAMILY, Finding

FILE_LINES = (400, 700)
FUNCTION_LINES = (40, 80)
KERNEL_LINES = (80, 120)
PARAMETERS = (6, 8)
OPENING_LINES = (10, 20)  # without the licence and the empty line behind it
# Contracts, which others implement or call from outside: as many as 20.
CONTRACTS = re.compile(
    r"^drivers/device/\w+_unit\.h$|^fpga_hls/\w+/abi\.h$|^host/transport/transport\.h$|^host/engine/steps/step_runner\.h$"
    r"|^host/collectives/(collective|sparsifier/(device_)?sparsifier)\.h$|^host/training/reducer/(reducer|gradient_buckets)\.h$")
FOREIGN_PARAMETERS = re.compile(
    r"^fpga_hls/|^tests/fpga/.*/kernel[^/]*\.(cpp|cl)$|^drivers/emulation/opencl_layer/|^host/apps/trace_comm/pmpi/\w+_calls\.cpp$")
KERNEL_PLACES = re.compile(r"^fpga_hls/|^gpu_kernels/|/kernels/|\.cl$|\.cu$")


def check(tree):
    findings = []
    for path in tree.with_suffix(C_FAMILY | {".py"}):
        text = tree.text(path)
        findings += over(path, 1, "file", "lines", (text.count("\n"), FILE_LINES))
        most = OPENING_LINES[1:] * 2 if CONTRACTS.match(path) else OPENING_LINES
        findings += over(path, 1, "opening comment", "lines", (opening_lines(text), most))
        found = python_functions(text) if path.endswith(".py") else functions(text)
        for function in found:
            findings += check_function(path, function)
    return findings


def check_function(path, function):
    limits = KERNEL_LINES if KERNEL_PLACES.search(path) else FUNCTION_LINES
    what = f"function {function.name}"
    findings = over(path, function.first_line, what, "lines", (function.num_lines, limits))
    if not FOREIGN_PARAMETERS.search(path):
        findings += over(path, function.first_line, what, "parameters",
                         (function.num_parameters, PARAMETERS))
    return findings


def over(path, line, what, unit, measured):
    count, (soft, hard) = measured
    if count <= soft:
        return []
    limit = hard if count > hard else soft
    return [Finding(path, line, f"{what} has {count} {unit}, budget {limit}", count <= hard)]


def opening_lines(text):
    lines = text.splitlines()[2:]
    return next((number for number, line in enumerate(lines) if not line.startswith("//")), len(lines))


def python_functions(text):
    try:
        module = ast.parse(text)
    except SyntaxError:
        return []
    return [Function(node.name, node.lineno, node.end_lineno - node.lineno + 1,
                     len(node.args.args) + len(node.args.kwonlyargs))
            for node in ast.walk(module)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
