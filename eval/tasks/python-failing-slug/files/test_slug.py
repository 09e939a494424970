import unittest

from slug import slug


class SlugTest(unittest.TestCase):
    def test_words(self):
        self.assertEqual(slug("Hello World"), "hello-world")

    def test_many_spaces_are_one_hyphen(self):
        self.assertEqual(slug("one   two"), "one-two")

    def test_no_hyphen_at_the_ends(self):
        self.assertEqual(slug(" (really) "), "really")


if __name__ == "__main__":
    unittest.main()
