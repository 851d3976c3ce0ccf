#!/usr/bin/env python3
"""Work shares the process: other threads go on, predictions run side by side, Ctrl-C ends it."""
import concurrent.futures
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import orrery
from support import LARGE, SCENARIO, main, python

LONG_SWEEP = """
import orrery
print("begins", flush=True)
orrery.sweep("gpt3-175b-superpod-a100", vary={"training.global_batch_size": "1024..262144 +1024",
                                              "seed": list(range(1, 101))})
"""
LONG_SEARCH = """
import orrery
print("begins", flush=True)
orrery.search("gpt3-175b-superpod-a100", gpus="512..8192 +64", top=1000)
"""


class ThreadTest(unittest.TestCase):
    def test_other_threads_go_on_while_one_predicts(self):
        spans = []

        def work():
            begin = time.monotonic()
            orrery.sweep(LARGE, vary={"training.global_batch_size": "512..2048 +128"}, threads=1)
            spans.append((begin, time.monotonic()))

        worker = threading.Thread(target=work)
        worker.start()
        ticks = []
        while worker.is_alive():
            ticks.append(time.monotonic())
            time.sleep(0.001)
        [(begin, end)] = spans
        margin = (end - begin) / 5  # before and after the work itself the lock is held
        inside = [tick for tick in ticks if begin + margin < tick < end - margin]
        self.assertGreater(len(inside), 10, f"{end - begin:.3f} s")

    def test_threads_predict_side_by_side_what_one_predicts(self):
        scenarios = [SCENARIO, LARGE, "mixtral-8x7b-superpod-h100", "mistral-7b-beside-gpt-1.7b"] * 3
        alone = {name: orrery.predict(name) for name in set(scenarios)}
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for name, predicted in zip(scenarios, pool.map(orrery.predict, scenarios)):
                self.assertEqual(predicted, alone[name], name)

    def test_errors_of_threads_are_their_own(self):
        def ask(tensor):
            try:
                return orrery.predict(SCENARIO, set={"strategy.tensor": tensor})["step_time_s"]
            except orrery.Error as error:
                return str(error)

        asked = [1, 3, 2, 5, 7, 8]
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            self.assertEqual(list(pool.map(ask, asked)), [ask(tensor) for tensor in asked])

    def test_processes_hand_back_predictions(self):
        with concurrent.futures.ProcessPoolExecutor(2) as pool:
            self.assertEqual(list(pool.map(orrery.predict, [SCENARIO, SCENARIO])), [orrery.predict(SCENARIO)] * 2)


class InterruptTest(unittest.TestCase):
    def interrupted(self, text):
        running = python(text)
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.stderr.close)
        try:
            self.assertEqual(running.stdout.readline(), "begins\n")
            time.sleep(1.5)
            self.assertIsNone(running.poll(), "it ended by itself: nothing was interrupted")
            running.send_signal(signal.SIGINT)
            _, err = running.communicate(timeout=60)
        finally:
            running.kill()
            running.wait()
        self.assertIn("KeyboardInterrupt", err)
        self.assertEqual(running.returncode, -signal.SIGINT)

    def test_ctrl_c_ends_a_sweep(self):
        self.interrupted(LONG_SWEEP)

    def test_ctrl_c_ends_a_search(self):
        self.interrupted(LONG_SEARCH)

    def test_whoever_catches_it_can_go_on(self):
        text = LONG_SWEEP.replace("\norrery.sweep", "\ntry:\n  orrery.sweep") + (
            "except KeyboardInterrupt:\n  print(orrery.predict('gpt-1.7b-dgx-a100')['fits'])\n")
        running = python(text)
        self.assertEqual(running.stdout.readline(), "begins\n")
        time.sleep(1.5)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
        self.assertEqual((out, err, running.returncode), ("True\n", "", 0))


class ProcessTest(unittest.TestCase):
    def test_signals_stay_as_they_were(self):
        # The C library catches a signal of its own from a process's first thread on.
        text = ("import signal, threading, orrery\n"
                "threading.Thread(target=int).start()\n"
                "def all(): return [open('/proc/self/status').read().split(name)[1].split()[0]"
                " for name in ('SigBlk:', 'SigIgn:', 'SigCgt:')]\n"
                "before = all(); orrery.predict('gpt-1.7b-dgx-a100'); print(before == all())")
        self.assertEqual(python(text).communicate(timeout=60), ("True\n", ""))

    def test_works_from_any_folder_and_beside_a_wrong_data_folder_says_so(self):
        environment = dict(os.environ, ORRERY_DATA="/no/such/folder")
        result = subprocess.run([sys.executable, "-c", "import orrery; orrery.predict('gpt-1.7b-dgx-a100')"], cwd="/",
                                env=environment, capture_output=True, text=True, timeout=60)
        self.assertIn("orrery.Error: $ORRERY_DATA: \"/no/such/folder\" is not a folder", result.stderr)
        out = python("import orrery; print(orrery.predict('gpt-1.7b-dgx-a100')['fits'])", cwd="/").communicate()
        self.assertEqual(out, ("True\n", ""))

    def test_says_its_version_and_what_there_is(self):
        self.assertRegex(orrery.__version__, r"^\d+\.\d+\.\d+$")
        self.assertIn("llama3-70b", orrery.models())
        self.assertIn("dgx-h100", orrery.clusters())
        self.assertIn("H100-SXM5-80GB", orrery.gpus())
        self.assertIn(SCENARIO, orrery.scenarios())


if __name__ == "__main__":
    main()
