# SPDX-License-Identifier: Apache-2.0
#
# Ranks of `tandem train` that are killed, stopped and added in mid-run: real processes over gloo, with and without mpirun.
# What they compute does not matter here, so all but one of these tests do without libtorch.
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from daemon import TANDEM
from train_runs import SMALL, LightRuns

FOR_EVER = 1_000_000
PATIENCE_S = 1200
SILENT_S = 20  # of a rank that is stopped; one that works may be held up for seconds


class ElasticTest(LightRuns):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "run"

    def rank(self, name, *arguments, **variables):
        """A process whose output goes to the files NAME.out and NAME.err."""
        common = ["--text", self.folder / "text.txt", *SMALL, "--out", self.out, "--save-every", 10]
        with open(self.folder / f"{name}.out", "w") as out, open(self.folder / f"{name}.err", "w") as error:
            process = subprocess.Popen([self.program, "train", *map(str, [*common, *arguments])], stdout=out, stderr=error,
                                       env={**os.environ, **variables})
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        process.kill()
        process.wait()

    def ranks(self, world, *arguments, source=None, steps=FOR_EVER):
        source = source or ["--model-config", self.folder / "shape.toml"]
        return [self.rank(rank, *source, "--steps", steps, *arguments, RANK=str(rank), WORLD_SIZE=str(world))
                for rank in range(world)]

    def mpirun(self, world, *arguments, steps=FOR_EVER):
        """With --enable-recovery; its output goes to the files mpi.out and mpi.err."""
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        words = ["--text", self.folder / "text.txt", *SMALL, "--out", self.out, "--save-every", 10, "--model-config",
                 self.folder / "shape.toml", "--steps", steps, *arguments]
        with open(self.folder / "mpi.out", "w") as out, open(self.folder / "mpi.err", "w") as error:
            process = subprocess.Popen(["mpirun", "--enable-recovery", "--oversubscribe", "--bind-to", "none", "-n", str(world),
                                        self.program, "train", *map(str, words)], stdout=out, stderr=error, env=environment)
        self.addCleanup(self.end, process)
        return process

    def children(self, process):
        ranks = subprocess.run(["pgrep", "-P", str(process.pid), "tandem-train"], capture_output=True, text=True)
        return [int(word) for word in ranks.stdout.split()]

    def text(self, name, kind="err"):
        return (self.folder / f"{name}.{kind}").read_text()

    def wait_for(self, condition, what):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            self.assertLess(time.monotonic(), end, f"{what}\n" + "".join(
                path.read_text() for path in sorted(self.folder.glob("*.err"))))
            time.sleep(0.05)

    def wait_for_text(self, name, words):
        self.wait_for(lambda: words in self.text(name), f"{name} does not say: {words}")

    def last_step(self, name):
        lines = self.text(name, "out").splitlines()
        steps = [json.loads(line)["step"] for line in lines if line.startswith("{") and line.endswith("}")]
        return steps[-1] if steps else 0

    def wait_for_step(self, name, step):
        self.wait_for(lambda: self.last_step(name) >= step, f"{name} does not come to step {step}")

    def stop(self, *processes):
        processes[0].send_signal(signal.SIGTERM)
        for process in processes:
            self.assertEqual(process.wait(PATIENCE_S), 0)

    def checkpoint(self):
        """The newest one. A run that goes on removes it once two newer ones are there, so it may go while it is read."""
        name = (self.out / "latest").read_text().strip()
        try:
            return json.loads((self.out / name / "checkpoint.json").read_text())
        except FileNotFoundError:
            if (self.out / "latest").read_text().strip() == name:
                raise
        return self.checkpoint()

    def test_a_run_survives_the_kill_of_its_first_rank(self):
        processes = self.ranks(3, "--elastic")
        self.wait_for_step(0, 25)
        self.end(processes[0])
        self.wait_for_text(1, "without rank 0: 2 of 3 go on from the last checkpoint")
        self.wait_for(lambda: self.checkpoint()["world"] == 2, "no checkpoint of two ranks")
        self.stop(*processes[1:])
        last = self.checkpoint()["step"]
        self.assertGreater(last, 20)
        steps = [line.split(",")[0] for line in (self.out / "log.csv").read_text().splitlines()[1:]]
        self.assertEqual(steps, [str(step) for step in range(1, last + 1)])
        # The folder serves the next run, whatever has died in it.
        again = self.ranks(2, "--elastic", source=["--resume", self.out], steps=last + 5)
        self.assertEqual([process.wait(PATIENCE_S) for process in again], [0, 0])
        self.assertEqual(self.last_step(0), last + 5)

    def test_a_loss_while_the_others_agree_is_another_loss(self):
        processes = self.ranks(4, "--elastic", "--timeout", 100)
        self.wait_for_step(0, 15)
        processes[2].send_signal(signal.SIGSTOP)  # the others wait for it while they agree
        self.end(processes[1])
        # Beside the reports may lie counters of busy ranks (report-...-busy).
        self.wait_for(lambda: sum(name.name.endswith(("-0", "-3")) for name in (self.out / ".ranks").glob("report-*")) == 2,
                      "the ranks do not agree")
        self.end(processes[2])
        self.wait_for_text(0, "without ranks 1, 2: 2 of 4 go on from the last checkpoint")
        step = self.last_step(0)
        self.wait_for(lambda: self.last_step(0) != step, "the run does not go on")
        self.stop(processes[0], processes[3])

    def test_losses_one_after_the_other_shrink_the_run(self):
        for pause in (0, 0.03):
            shutil.rmtree(self.out, ignore_errors=True)
            processes = self.ranks(4, "--elastic", "--timeout", 100)
            self.wait_for_step(0, 12)
            for lost in (3, 1):
                self.end(processes[lost])
                time.sleep(pause)
            self.wait_for(lambda: "rank 1: 2 of 3 go on" in self.text(0) or "ranks 1, 3: 2 of 4 go on" in self.text(0),
                          "the ranks do not go on")
            lines = self.text(0, "out").count("\n")
            self.wait_for(lambda: self.text(0, "out").count("\n") > lines + 5, "the run does not go on")
            self.stop(processes[0], processes[2])

    def test_a_rank_that_hangs_is_left_out_and_ends_when_it_wakes(self):
        processes = self.ranks(3, "--elastic", "--timeout", SILENT_S)
        self.wait_for_step(0, 15)
        processes[1].send_signal(signal.SIGSTOP)
        self.wait_for_text(0, "without rank 1: 2 of 3 go on")
        before = self.text(0, "out").count("\n")
        self.wait_for(lambda: self.text(0, "out").count("\n") > before + 5, "the run does not go on")
        processes[1].send_signal(signal.SIGCONT)
        self.assertEqual(processes[1].wait(PATIENCE_S), 3)
        self.assertIn("the smaller group was formed without rank 1", self.text(1))
        self.stop(processes[0], processes[2])

    def test_a_new_rank_joins_at_a_checkpoint(self):
        processes = self.ranks(2, "--elastic")
        self.wait_for_step(0, 15)
        stranger = self.rank("stranger", "--join", "--steps", FOR_EVER, "--rate", "0.5")
        self.assertEqual(stranger.wait(PATIENCE_S), 2)
        self.assertIn("--rate is 0.01 on ranks 0, 1, 0.5 on rank 2", self.text("stranger"))
        joined = self.rank("new", "--join", "--steps", FOR_EVER)
        self.wait_for_text(0, "3 ranks from here on")
        self.wait_for(lambda: self.checkpoint()["world"] == 3, "no checkpoint of three ranks")
        self.end(processes[1])
        self.wait_for_text(0, "without rank 1: 2 of 3 go on")
        self.stop(processes[0], joined)

    def test_nobody_joins_a_run_that_has_ended(self):
        self.from_scratch("--steps", 2, "--out", self.out)
        late = self.rank("late", "--join", "--steps", FOR_EVER)
        self.assertEqual(late.wait(PATIENCE_S), 2)
        self.assertIn("no run with --elastic is under way in", self.text("late"))

    def test_without_elastic_every_rank_ends_with_an_error_that_names_the_rank(self):
        for signal_number in (signal.SIGKILL, signal.SIGSTOP):
            shutil.rmtree(self.out, ignore_errors=True)
            processes = self.ranks(3, "--timeout", SILENT_S)
            self.wait_for_step(0, 15)
            processes[2].send_signal(signal_number)
            why = "its process has ended" if signal_number == signal.SIGKILL else f"no word for {SILENT_S}000 ms"
            for rank in (0, 1):
                self.assertEqual(processes[rank].wait(PATIENCE_S), 3)
                self.assertIn(f"rank 2 is lost: {why}; --resume continues", self.text(rank))
            self.end(processes[2])

    def test_without_elastic_ranks_of_mpi_name_the_rank_too(self):
        if shutil.which("mpirun") is None:
            self.skipTest("mpirun is not installed")
        process = self.mpirun(3, "--timeout", 10)
        self.wait_for_step("mpi", 15)
        os.kill(self.children(process)[-1], signal.SIGKILL)
        process.wait(PATIENCE_S)  # its exit code is Open MPI's affair
        self.assertEqual(self.text("mpi").count(" is lost: its process has ended"), 2, self.text("mpi"))

    # Rank 1 has a file system of its own there. It would be waited for until the timeout; the test's is before that.
    def test_ranks_of_mpi_that_do_not_see_each_other_go_on_at_once(self):
        if shutil.which("mpirun") is None:
            self.skipTest("mpirun is not installed")
        store = self.folder / "store"
        store.mkdir()
        script = self.folder / "rank.sh"
        script.write_text(f'#!/bin/sh\ntrain="{self.program} train $*"\n[ $OMPI_COMM_WORLD_RANK = 0 ] && exec $train\n'
                          f'exec unshare --mount sh -c "mount -t tmpfs tmpfs {store} && exec $train"\n')
        script.chmod(0o755)
        if subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", store], capture_output=True).returncode:
            self.skipTest("this user cannot mount a tmpfs")
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        words = ["--text", self.folder / "text.txt", *SMALL, "--model-config", self.folder / "shape.toml", "--steps", 3,
                 "--store", store, "--timeout", 10 * PATIENCE_S]
        process = subprocess.run(["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2", script, *map(str, words)],
                                 capture_output=True, text=True, env=environment, timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertRegex(process.stderr, "has not come to .*; a rank that is lost may not be named")
        self.assertEqual(process.stdout.count('"step"'), 3)

    def test_a_run_under_mpirun_survives_a_kill(self):
        if shutil.which("mpirun") is None:
            self.skipTest("mpirun is not installed")
        self.program = TANDEM  # with libtorch
        process = self.mpirun(3, "--elastic", steps=600)  # mpirun ends by itself only, so enough for the kill to come before
        self.wait_for_step("mpi", 12)
        os.kill(self.children(process)[-1], signal.SIGKILL)
        process.wait(PATIENCE_S)
        self.assertIn("2 of 3 go on from the last checkpoint", self.text("mpi"))
        self.assertNotIn("--enable-recovery", self.text("mpi"))  # no warning that it is missing
        self.assertEqual((self.last_step("mpi"), self.checkpoint()["world"]), (600, 2))

    def test_elastic_wants_what_outlives_a_rank(self):
        shape = self.folder / "shape.toml"
        for arguments, words in (
            (["--elastic"], "--elastic continues from checkpoints; name a folder by --out"),
            (["--join"], "name its folder by --out"),
            (["--elastic", "--out", self.out, "--transport", "mpi"], "--elastic needs --transport gloo"),
        ):
            self.assertIn(words, self.train("--model-config", shape, "--steps", 1, *arguments, code=2))


if __name__ == "__main__":
    unittest.main()
