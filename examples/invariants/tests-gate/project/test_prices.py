import sys
import unittest

# What the tests leave behind is no work of the agent.
sys.dont_write_bytecode = True

from prices import total


class Total(unittest.TestCase):
    def test_without_discount(self):
        self.assertEqual(total([100, 250], 0), 350)

    def test_half_a_cent_is_rounded(self):
        self.assertEqual(total([199], 50), 100)


if __name__ == "__main__":
    unittest.main()
