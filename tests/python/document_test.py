#!/usr/bin/env python3
"""docs/python.md: Python answers what it says."""
import doctest
import unittest

from support import ROOT, main


class DocumentTest(unittest.TestCase):
    def test_answers_are_as_printed(self):
        result = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False)
        self.assertGreater(result.attempted, 10)
        self.assertEqual(result.failed, 0)


if __name__ == "__main__":
    main()
