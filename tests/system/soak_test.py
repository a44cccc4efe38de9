# SPDX-License-Identifier: Apache-2.0
#
# Some seconds of the mixed load of benchmarks/host/server/soak.py, whose memory needs longer to be judged; and what is left of
# large answers.
import json
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from daemon import BUILD, SOURCE, TANDEM, Daemon

SOAK = SOURCE / "benchmarks" / "host" / "server" / "soak.py"


@unittest.skipUnless((BUILD / "xrt" / "setup.sh").exists(), "this build has no emulated cards")
@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
class SoakTest(unittest.TestCase):
    def test_every_request_of_a_mixed_load_is_answered_refused_or_cut_by_its_client(self):
        done = subprocess.run([sys.executable, SOAK, "--seconds", "12", "--fault-seconds", "1", "--seed", "7", "--json",
                               "--tandem", TANDEM], capture_output=True, text=True)
        self.assertTrue(done.stdout, done.stderr[-2000:])
        result = json.loads(done.stdout)
        problems = [problem for problem in result["problems"] if not problem.startswith("resident memory")]
        self.assertEqual((result["lost"], result["losses"], problems), (0, [], []), done.stderr[-2000:])
        self.assertGreater(result["answered"], 0)
        self.assertGreater(sum(result["faults"].values()), 0)


class MemoryTest(unittest.TestCase):
    def test_the_memory_of_large_answers_goes_back_to_the_system(self):
        def anonymous_kib():
            status = Path(f"/proc/{daemon.process.pid}/status").read_text()
            return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1])

        def ask(**fields):
            status, _, body = daemon.request("POST", "/v1/chat/completions", {
                "messages": [{"role": "user", "content": "Once upon a time"}], "n": 12, "max_tokens": 200, "ignore_eos": True,
                **fields})
            self.assertEqual(status, 200, body)
            return len(json.dumps(body))

        with Daemon("--attention", "cpu", "--no-prefix-cache", "--kv-memory", "8MiB", "--max-running", "16") as daemon:
            ask()  # the KV pages are in use from here on
            before = anonymous_kib()
            for _ in range(4):
                self.assertGreater(ask(logprobs=True, top_logprobs=20), 3_000_000)
            self.assertLess(anonymous_kib(), before + 3000)  # 4,000 KiB after the first and 16,000 after the last otherwise


if __name__ == "__main__":
    unittest.main()
