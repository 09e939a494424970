import unittest

from slug import slug


class SlugTest(unittest.TestCase):
    def test_all(self):
        for title, expected in [
            ("Hello World", "hello-world"),
            ("one   two", "one-two"),
            (" (really) ", "really"),
            ("C++ & Rust 2", "c-rust-2"),
            ("", ""),
        ]:
            self.assertEqual(slug(title), expected)
