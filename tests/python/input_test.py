#!/usr/bin/env python3
"""Input that is wrong raises exceptions that say what the command line says."""
import pathlib
import pickle
import tempfile
import unittest

import orrery
from support import LARGE, SCENARIO, command, main


class ErrorTest(unittest.TestCase):
    def raised(self, function, *arguments, **named):
        with self.assertRaises(orrery.Error) as caught:
            function(*arguments, **named)
        return caught.exception

    def same(self, error, *words):
        self.assertEqual(f"orrery: error: {error}\n", command(*words, exit_code=2))

    def test_has_the_text_of_the_command_and_its_parts(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "wrong.json"
            file.write_text('{"model": {"name": "gpt2"}, "cluster": {"preset": "dgx-a100", "nods": 2}, "training": {}}')
            error = self.raised(orrery.predict, file)
            self.same(error, "simulate", file)
            self.assertEqual((error.file, error.pointer), (str(file), "/cluster/nods"))
            self.assertIn("nodes", error.hint)
            self.assertIn(error.message, str(error))
            self.assertIsInstance(error, ValueError)

    def test_a_plan_that_cannot_be_is_blamed_on_the_scenario(self):
        error = self.raised(orrery.predict, SCENARIO, set={"strategy.tensor": 3})
        self.same(error, "simulate", SCENARIO, "--set", "strategy.tensor=3")
        self.assertTrue(error.file.endswith(f"{SCENARIO}.json"))

    def test_an_unknown_name_is_told_with_what_is_near(self):
        self.same(self.raised(orrery.predict, "gpt-1.7b-dgx-a10"), "simulate", "gpt-1.7b-dgx-a10")
        self.same(self.raised(orrery.predict, SCENARIO, set={"strategy.tensr": 3}), "simulate", SCENARIO, "--set",
                  "strategy.tensr=3")
        self.same(self.raised(orrery.predict, "/no/such/file.json"), "simulate", "/no/such/file.json")

    def test_dictionaries_are_called_scenario_and_arguments_arguments(self):
        error = self.raised(orrery.predict, {"model": {"name": "gpt2"}, "cluster": {"preset": "dgx-a100"}, "x": 1})
        self.assertEqual((error.file, error.pointer), ("scenario", "/x"))
        error = self.raised(orrery.predict, model="gpt2", cluster="dgx-a100", gpus=8, global_batch=8, seq_length=512,
                            sharding="zero4")
        self.assertEqual((error.file, error.pointer), ("arguments", "/strategy/sharding"))
        self.assertIn("zero3", error.hint)
        self.assertIn('model="llama3-70b"', self.raised(orrery.predict).hint)

    def test_sweep_search_and_capacity_refuse_as_the_commands_do(self):
        self.same(self.raised(orrery.sweep, SCENARIO, vary={"strategy.tensr": [1]}), "sweep", SCENARIO, "--vary",
                  "strategy.tensr=1")
        self.same(self.raised(orrery.sweep, SCENARIO, vary={"strategy.tensor": []}), "sweep", SCENARIO, "--vary",
                  "strategy.tensor=")
        self.same(self.raised(orrery.sweep, SCENARIO, vary={"strategy.tensor": [3, 5]}), "sweep", SCENARIO, "--vary",
                  "strategy.tensor=3,5")
        self.same(self.raised(orrery.search, SCENARIO, objective="joy"), "search", SCENARIO, "--objective", "joy")
        self.same(self.raised(orrery.search, SCENARIO, price={"H100": -1}), "search", SCENARIO, "--price", "H100=-1")
        self.same(self.raised(orrery.search, LARGE, gpus=8), "search", LARGE, "--gpus", "8")
        self.assertEqual(self.raised(orrery.capacity, {"name": "no question"}).file, "question")

    def test_can_be_pickled(self):
        error = self.raised(orrery.predict, SCENARIO, set={"strategy.tensor": 3})
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(copy), copy.file, copy.hint), (str(error), error.file, error.hint))


class ArgumentTest(unittest.TestCase):
    def test_an_unknown_argument_is_a_type_error_that_names_the_nearest(self):
        with self.assertRaisesRegex(TypeError, "'tensr' is no usual key.*nearest is 'tensor'"):
            orrery.predict(SCENARIO, tensr=2)
        with self.assertRaisesRegex(TypeError, "'gpus_' is no usual key"):
            orrery.sweep(SCENARIO, vary={}, gpus_=2)

    def test_what_is_no_value_is_refused(self):
        for changes in ({"strategy.tensor": object()}, {"strategy.tensor": {1, 2}}, "strategy.tensor=2"):
            with self.assertRaises(TypeError):
                orrery.predict(SCENARIO, set=changes)
        with self.assertRaises(ValueError):
            orrery.predict(SCENARIO, set={"perturbations.jitter": float("nan")})
        with self.assertRaises(ValueError):
            orrery.predict({"name": float("inf")})
        with self.assertRaises(TypeError):
            orrery.predict(7)

    def test_numbers_out_of_range_are_refused(self):
        for wrong in (-1, 2**40, 1.5, "8"):
            with self.assertRaisesRegex(ValueError, "is no whole number from 1"):
                orrery.predict(model="gpt2", cluster="dgx-a100", gpus=wrong)
            with self.assertRaisesRegex(ValueError, "is no whole number"):
                orrery.explain(SCENARIO, rank=wrong)
        for idle in (-0.1, 1.0, float("nan")):
            with self.assertRaisesRegex(ValueError, "is no share"):
                orrery.search(SCENARIO, idle=idle)
        with self.assertRaisesRegex(ValueError, "top=0"):
            orrery.search(SCENARIO, top=0)


if __name__ == "__main__":
    main()
