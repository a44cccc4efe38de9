# SPDX-License-Identifier: Apache-2.0
"""watch.py TANDEM PROGRAM XCLBIN: `card watch` as JSON, as text and in a terminal, while PROGRAM has a card."""
import json
import os
import pty
import signal
import subprocess
import sys

tandem, program, xclbin = sys.argv[1:4]
PATIENCE = 100
watch = [tandem, "card", "watch"]


def own_card(view, process):
    return [card for card in view["cards"] if process in card.get("applications", [])]


def once_of(process):
    """A machine that is busy may keep a card from answering in time."""
    for _ in range(PATIENCE):
        text = subprocess.run(watch + ["--once", "--json"], check=True, stdout=subprocess.PIPE, timeout=PATIENCE).stdout
        cards = own_card(json.loads(text), process)
        if cards:
            return cards[0]
    raise AssertionError("the card is not shown: " + text.decode())


def in_terminal(process, number):
    """Watches in a terminal until the card is on the page, then sends a signal. Returns output and exit status."""
    reader, writer = pty.openpty()
    shown = subprocess.Popen(watch + ["--interval", "0.1"], stdout=writer, stdin=writer,
                             env={**os.environ, "TERM": "xterm"})
    os.close(writer)
    output = b""
    while f"used by {process}".encode() not in output:
        output += os.read(reader, 65536)
    shown.send_signal(number)
    while True:
        try:
            more = os.read(reader, 65536)
        except OSError:  # the end of a terminal
            break
        if not more:
            break
        output += more
    return output, shown.wait(PATIENCE)


user = subprocess.Popen([program, xclbin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                        env={**os.environ, "XCL_EMULATION_MODE": "hw_emu"})
process = int(user.stdout.readline())
card = once_of(process)
assert card["state"] == "open" and card["card"] == "private", card
assert card["units"] == [{"kernel": "vadd", "unit": "vadd_1", "state": "idle", "commands": 0, "launches": 1,
                          "busy_share": 0.0, "waits": []}], card
assert card["bytes_to_device"] == 3 * 4096 and card["to_device_gb_per_s"] == 0.0, card
text = subprocess.run(watch + ["--once"], check=True, stdout=subprocess.PIPE, timeout=PATIENCE).stdout.decode()
assert "card " in text and "\x1b" not in text, text

for number in (signal.SIGINT, signal.SIGTERM):
    output, status = in_terminal(process, number)
    assert status == -number, status
    assert output.startswith(b"\x1b[?1049h\x1b[?25l"), output[:40]
    assert output.endswith(b"\x1b[?25h\x1b[?1049l"), output[-40:]

# Lines of JSON until the reader has gone.
lines = subprocess.Popen(watch + ["--json", "--interval", "0.05"], stdout=subprocess.PIPE)
assert "cards" in json.loads(lines.stdout.readline())
lines.stdout.close()
assert lines.wait(PATIENCE) != 0

user.stdin.close()
assert user.wait(PATIENCE) == 0
for words in (["--interval", "0"], ["--interval", "often"], ["twice"]):
    assert subprocess.run(watch + words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, timeout=PATIENCE).returncode == 2
