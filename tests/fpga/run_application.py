#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one program of the FPGA corpus as a user would and judges it.

A program that is to pass prints TEST PASSED and exits with 0. One that is to fail (its kernel is broken) prints TEST FAILED
or exits with another code, and fails as it is meant to: a check names the value that the kernel got wrong, and no exception
ended the program; a bitstream that does not load or a card that does not start is another failure, and proves nothing of the
checks. With --expect-text the output matches that pattern instead. Neither program may outlive its time limit, die of a
signal, or leave a process behind. Prints the program's output when the judgement is "no"; exits with 0 or 1.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid

GRACE_S = 15  # for what the program started to end by itself
WRONG_VALUE = re.compile(r"^\S+\.(?:cpp|h):\d+: .+ is .+, not .+$", re.MULTILINE)  # support/application.h
EXCEPTION = re.compile(r"^exception: .*$", re.MULTILINE)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expect", choices=["pass", "fail"], required=True)
    parser.add_argument("--mode", choices=["sw_emu", "hw_emu", "unset"], required=True)
    parser.add_argument("--cards", default="1")
    parser.add_argument("--timeout", type=float, required=True)
    parser.add_argument("--tree", required=True)
    parser.add_argument("--expect-text", type=re.compile, metavar="PATTERN", help="how a program that is to fail fails")
    parser.add_argument("--set", action="append", default=[], metavar="VAR=VALUE")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def environment(options, tag):
    values = {name: value for name, value in os.environ.items() if not name.startswith(("XCL_", "XRT_", "TANDEM_"))}
    values["TANDEM_APPLICATION_TAG"] = tag
    values["TANDEM_CARDS"] = options.cards
    if options.mode != "unset":
        values["XCL_EMULATION_MODE"] = options.mode
    for setting in options.set:
        name, _, value = setting.partition("=")
        values[name] = value
    return values


def processes_with(tag):
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as environ:
                if tag.encode() not in environ.read():
                    continue
            with open(f"/proc/{entry}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] != "Z":
                    found.append(int(entry))
        except OSError:
            continue  # ended meanwhile, or somebody else's
    return found


def left_behind(tag):
    """Processes of the program that do not end by themselves; ended here."""
    deadline = time.monotonic() + GRACE_S
    while (found := processes_with(tag)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for process in found:
        os.kill(process, signal.SIGKILL)
    return found


def run(options, folder, tag):
    """(exit code or None after the time limit, output)"""
    command = ["bash", "-c", '. "$0" >/dev/null && exec "$@"', options.tree + "/setup.sh", *options.command]
    with open(os.path.join(folder, "output"), "w+", errors="replace") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=folder,
                                   env=environment(options, tag))
        try:
            code = process.wait(options.timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = None
        output.seek(0)
        return code, output.read()


def verdict(options, code, output, leftovers):
    """What is wrong, or nothing."""
    if code is None:
        return f"it did not end within {options.timeout:g} s"
    if code < 0:
        return f"it died of {signal.Signals(-code).name}"
    if leftovers:
        return f"it left {len(leftovers)} process(es) behind"
    passed = code == 0 and "TEST PASSED" in output and "TEST FAILED" not in output
    if options.expect == "pass" and not passed:
        return f"it exited with {code}, and was to print TEST PASSED and exit with 0"
    if options.expect == "fail" and passed:
        return "it passed although its kernel is broken"
    if options.expect == "fail" and code == 0 and "TEST FAILED" not in output:
        return "it exited with 0 and said nothing"
    return other_failure(options.expect_text, output) if options.expect == "fail" else ""


def other_failure(expected, output):
    """Why a program did not fail as it was meant to, or nothing."""
    if expected:
        return "" if expected.search(output) else f"it failed without printing '{expected.pattern}'"
    if exception := EXCEPTION.search(output):
        return f"its kernel was to get a value wrong, but the program ended with '{exception.group()}'"
    return "" if WRONG_VALUE.search(output) else "it failed, but no check named a value that its kernel got wrong"


def main():
    options = arguments()
    for path in options.command:
        if path.startswith("/") and not os.path.exists(path):
            print(f"{path} does not exist: build the target fpga_applications")
            return 1
    tag = "tandem-application-" + uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="tandem-fpga-") as folder:
        code, output = run(options, folder, tag)
        problem = verdict(options, code, output, left_behind(tag))
    if problem:
        print(f"{output}\n{' '.join(options.command)}: {problem}")
    return 1 if problem else 0


sys.exit(main())
