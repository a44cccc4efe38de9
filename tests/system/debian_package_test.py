# SPDX-License-Identifier: Apache-2.0
#
# The Debian package in a bare Debian: it installs with what it names as its needs, serves, and leaves nothing when purged.
# The bare Debian is made by debootstrap once per build tree; the test skips without it, or without the package.
import os
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from daemon import BUILD, SOURCE

ROOT = BUILD / "debian-chroot"
INSTALL = SOURCE / "host" / "apps" / "install"


def command(*words, **options):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, **options)


class UnitTest(unittest.TestCase):
    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_reads_the_unit_and_finds_it_hardened(self):
        with tempfile.TemporaryDirectory() as folder:
            unit = Path(folder) / "tandem.service"
            unit.write_text((BUILD / "tandem.service").read_text().replace("/usr/local/bin/tandem", "/bin/true"))
            verified = command("systemd-analyze", "verify", "--man=no", unit)
            self.assertEqual((verified.returncode, verified.stderr), (0, ""))
            # 10 is no protection; 5 is what systemd calls medium.
            rated = command("systemd-analyze", "security", "--offline=yes", "--threshold=30", unit)
            self.assertEqual(rated.returncode, 0, rated.stdout[-2000:] + rated.stderr)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("debootstrap"), "needs root and debootstrap")
class DebianPackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if command("unshare", "-mp", "--fork", "true").returncode != 0:
            raise unittest.SkipTest("this root makes no namespaces")
        packages = cls.make_package()
        if not (ROOT / "usr/bin/apt").exists():
            made = command("debootstrap", "--variant=minbase", "bookworm", ROOT)
            if made.returncode != 0:
                raise unittest.SkipTest("debootstrap makes no Debian here: " + made.stdout[-500:])
            for name in ("/etc/resolv.conf", "/etc/apt/apt.conf.d"):
                if Path(name).exists():
                    command("cp", "-rL", name, str(ROOT) + str(Path(name).parent))
            (ROOT / "etc/apt/apt.conf.d/90retries").write_text('Acquire::Retries "10";\n')  # a mirror that drops a connection is no bug
        cls.package = Path(shutil.copy(packages, ROOT / "tmp"))

    @staticmethod
    def make_package():
        folder = BUILD / "package"
        made = command("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder, cwd=BUILD)
        if made.returncode != 0:
            raise AssertionError(made.stdout + made.stderr)
        return max(folder.glob("tandem_*.deb"), key=os.path.getmtime)

    def inside(self, script, code=0):
        """In namespaces of its own, so that nothing there starts a service or uses a port here."""
        script = "mount -t proc proc /proc 2>/dev/null; " + script
        done = command("unshare", "-mp", "--fork", "chroot", ROOT, "sh", "-c", script,
                       env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"})
        self.assertEqual(done.returncode, code, done.stdout[-2000:] + done.stderr[-2000:])
        return done.stdout

    def with_setup(self, script):
        """After XRT's setup script of the package, in a folder that does not stay."""
        setup = "source /usr/share/tandem/xrt/setup.sh; export TANDEM_CARDS=2; "
        folder = 'cd "$(mktemp -d)"; trap "rm -r $PWD" EXIT; '
        return self.inside("bash -ec " + shlex.quote(setup + folder + script))

    def check_cards(self):
        """The component fpga: the cards, their tools, and a bitstream on both of them."""
        devices = self.with_setup("tandem devices")
        for card in ("xrt:0", "xrt:1"):
            self.assertRegex(devices, rf"(?m)^{card} +- +yes +yes ")
        self.assertEqual(self.with_setup("xbutil examine").count("emulated, ready"), 2)
        shown = self.with_setup("xclbinutil --info --input /usr/share/tandem/bitstreams/vector_add.xclbin")
        self.assertRegex(shown, r"Kernels: +vadd")
        self.with_setup("emconfigutil --platform xilinx_u55c_gen3x16_xdma_base_3 --nd 2; test -s emconfig.json")
        cards = self.inside("tandem generate --prompt 'Once upon a time' --max-tokens 8 --attention xrt:0,xrt:1 --json 2>/dev/null")
        self.assertIn('"device": "xrt:1"', cards)
        files = "$(ls -d /usr/share/tandem/xrt/bin/* /usr/share/tandem/xrt/lib/*.so.* | grep -vE '/(xcpp|v[a-z]+_hls|vivado|vitis-run)$')"  # scripts
        self.assertNotIn("not found", self.with_setup(f"ldd {files}"))
        # The tools work without a compiler; the one that needs it says so.
        refused = self.with_setup("""echo 'extern "C" void k(int* a) { a[0] = 1; }' >k.cpp; """
                                  "v++ -c -t sw_emu -k k --platform xilinx_u55c_gen3x16_xdma_base_3 k.cpp -o k.xo 2>&1 || true; "
                                  "test ! -e k.xo")
        self.assertIn("g++", refused)

    def test_installs_runs_and_leaves_nothing(self):
        self.inside("apt-get update -qq; apt-get purge -yqq tandem >/dev/null 2>&1; true")
        # The packages that it needs stay.
        self.inside(f"apt-get install -yqq --no-install-recommends /tmp/{self.package.name} >/dev/null && apt-get purge -yqq tandem")
        listing = ("find /etc /usr /opt /root /tmp /run /dev/shm /var/lib -xdev -not -path '/var/lib/dpkg/*' "
                   "-not -path '/var/lib/apt/*' | sort")
        users = "cat /etc/passwd"
        before, users_before = self.inside(listing), self.inside(users)
        self.inside(f"apt-get install -yqq --no-install-recommends /tmp/{self.package.name}")
        self.assertIn("tandem", self.inside(users))
        self.assertIn("nothing wrong", self.inside("tandem check-config /etc/tandem/tandem.toml"))
        text = self.inside("tandem generate --prompt 'Once upon a time' --max-tokens 8 --attention cpu 2>/dev/null")
        self.assertGreater(len(text), len("Once upon a time"))
        self.check_cards()
        for path in ("/usr/share/man/man1/tandem-serve.1.gz", "/usr/share/man/man1/tandem-map.1.gz",
                     "/usr/share/man/man1/tandem-tensor.1.gz", "/usr/share/man/man1/tandem-card.1.gz", "/usr/bin/tandem-emulation",
                     "/usr/share/bash-completion/completions/tandem",
                     "/usr/lib/systemd/system/tandem.service"):
            self.assertTrue((ROOT / path[1:]).exists(), path)
        self.assertIn("ExecStart=/usr/bin/tandem", (ROOT / "usr/lib/systemd/system/tandem.service").read_text())
        self.assertFalse((ROOT / "usr/include/tandem").exists())
        served = self.inside(
            "cd /tmp; setpriv --reuid=tandem --regid=tandem --clear-groups tandem serve --port 0 --attention cpu --port-file /tmp/port 2>/tmp/log & "
            "d=$!; for i in $(seq 6000); do [ -s /tmp/port ] && break; sleep 0.1; done; kill -TERM $d; wait $d; echo ended $?; "
            "rm -f /tmp/port /tmp/log")
        self.assertIn("ended 0", served)
        self.inside("apt-get purge -yqq tandem")
        self.assertEqual(self.inside(listing), before)
        self.assertEqual(self.inside(users), users_before)


if __name__ == "__main__":
    unittest.main()
