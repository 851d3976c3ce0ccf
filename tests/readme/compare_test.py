"""The test of READMEs finds what it is there to find."""
import unittest

import commands
import compare


class CompareTest(unittest.TestCase):
    def test_numbers_count_to_the_last_printed_place(self):
        self.assertTrue(compare.same_line("step 27.8 s   MFU 38.1%", "step 27.9 s  MFU 38.1%"))
        self.assertFalse(compare.same_line("step 27.8 s", "step 28.0 s"))
        self.assertFalse(compare.same_line("1,024 GPUs", "1,026 GPUs"))
        self.assertFalse(compare.same_line("all_reduce 2.94 us", "all_gather 2.94 us"))
        self.assertFalse(compare.same_line("error -4.5%", "error 4.5%"))

    def test_rules_and_gaps_are_as_wide_as_they_like(self):
        self.assertTrue(compare.same_line("a    b\t", "a b"))
        self.assertTrue(compare.same_line("------  --", "---  -------"))

    def test_measured_numbers_may_be_any(self):
        self.assertTrue(compare.same_line("up (forward) 79.5 ms +10.3%", "up (forward) 1.2 s -3%", measured=True))
        self.assertFalse(compare.same_line("up (forward) 79.5 ms", "down (forward) 79.5 ms", measured=True))

    def test_lines_come_in_order_and_others_between(self):
        actual = ["a 1", "x", "b 2", "c 3"]
        self.assertEqual(compare.missing_lines(["a 1", "", "c 3"], actual), [])
        self.assertEqual(compare.missing_lines(["b 2", "a 1"], actual), ["a 1"])


class CommandsTest(unittest.TestCase):
    def test_markdown(self):
        text = "\n".join(["# A", "Text", "", "    build/release/orrery x \\", "        --set a=1", "", "```", "out 1",
                          "```", "", "    {\"json\": 1}", "", "    make run      # why", "", "# B", "```",
                          "lost", "```"])
        found, orphans = commands.markdown(text)
        self.assertEqual([c.text for c in found], ["build/release/orrery x --set a=1", "make run"])
        self.assertEqual([c.output for c in found], [["out 1"], []])
        self.assertEqual(orphans, [(16, ["lost"])])

    def test_help(self):
        text = "\n".join(["Usage: orrery", "Subcommands:", "  list    what there is", "  run     it", "", "Examples:",
                          "  orrery list models   # all", "  mpirun -n 2 orrery run x.json", "  orrery run x.json \\",
                          "      --steps 3", "Names: auto"])
        self.assertEqual(commands.subcommands(text), ["list", "run"])
        self.assertEqual([c.text for c in commands.help_text(text)],
                         ["orrery list models", "mpirun -n 2 orrery run x.json", "orrery run x.json --steps 3"])


if __name__ == "__main__":
    unittest.main()
