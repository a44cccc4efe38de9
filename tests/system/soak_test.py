# SPDX-License-Identifier: Apache-2.0
#
# Some seconds of the mixed load of benchmarks/host/server/soak.py. Its memory needs longer to be judged.
import json
import shutil
import subprocess
import sys
import unittest

from daemon import BUILD, SOURCE, TANDEM

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


if __name__ == "__main__":
    unittest.main()
