#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# `tandem serve --split auto` beside layers in order, on two compute devices of this machine, in alternating turns: tokens per
# second of one stream. Two CPU units divide the threads; units that work one after the other only cost time, so the plan leaves one
# out where a model fits the other. Then the same model with limits that no unit can hold alone: it must answer, with the same text.
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from paired import interval  # noqa: E402


class Daemon:
    def __init__(self, tandem, *arguments):
        self.process = subprocess.Popen([tandem, "serve", "--port", "0", "--attention", "auto", *map(str, arguments)],
                                        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.log, self.url = [], None
        for line in self.process.stderr:
            self.log.append(line)
            found = re.search(r"(http://[\d.]+:\d+)", line)
            if found:
                self.url = found[1]
                break
        if not self.url:
            raise SystemExit("the daemon did not start:\n" + "".join(self.log))

    def answer(self, num_tokens, prompt):
        body = {"prompt": prompt, "max_tokens": num_tokens, "temperature": 0, "ignore_eos": True}
        request = urllib.request.Request(self.url + "/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
        begin = time.monotonic()
        text = json.load(urllib.request.urlopen(request))["choices"][0]["text"]
        return num_tokens / (time.monotonic() - begin), text

    def stop(self):
        self.process.terminate()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description="--split auto beside layers in order")
    parser.add_argument("folder", type=pathlib.Path, help="for the model of random weights")
    parser.add_argument("--build", type=pathlib.Path, default="build/release")
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--tokens", type=int, default=32)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    tandem, model = options.build / "bin/tandem", options.folder / "split.gguf"
    if not model.exists():
        subprocess.run([options.build / "bin/tandem-random-model", model, "--width", "1024", "--layers", "16", "--ffn", "4096", "--q-heads", "16",
                        "--vocab", "8000", "--type", "q8_0"], check=True)
    prompt = " ".join(["a"] * 48)
    common = ["--model", model, "--context", "256", "--max-running", "2"]
    daemons = {"in order": Daemon(tandem, *common, "--compute", "cpu,cpu", "--split", "layers"),
               "auto": Daemon(tandem, *common, "--compute", "cpu,cpu", "--split", "auto")}
    speeds = {name: [] for name in daemons}
    texts = {}
    for turn in range(options.turns + 1):
        for name, daemon in sorted(daemons.items(), reverse=turn % 2 == 1):
            speed, texts[name] = daemon.answer(options.tokens, prompt)
            if turn > 0:
                speeds[name].append(speed)
    for daemon in daemons.values():
        daemon.stop()
    for name, values in speeds.items():
        print(f"{name}: {statistics.median(values):.1f} tokens/s (median of {len(values)})")
    print("auto / in order:", interval([a / b for a, b in zip(speeds["auto"], speeds["in order"])]))
    size = model.stat().st_size
    limit = f"{int(size * 0.75)}"
    try:
        Daemon(tandem, *common, "--compute", f"cpu={limit},cpu={int(size * 0.1)}", "--split", "auto").stop()
        raise SystemExit("a model was served beyond the sum of its limits")
    except SystemExit as error:
        if "does not fit" not in str(error):
            raise
    limited = Daemon(tandem, *common, "--compute", f"cpu={limit},cpu={limit}", "--split", "auto")
    speed, text = limited.answer(options.tokens, prompt)
    limited.stop()
    print(f"a model of {size / 2**20:.0f} MiB on two units of at most {int(limit) / 2**20:.0f} MiB: {speed:.1f} tokens/s, the same text: "
          f"{text == texts['auto']}")
    print("".join(line for line in limited.log if "layers" in line), end="")


if __name__ == "__main__":
    main()
