import unittest

from jobs import Queue


class QueueTest(unittest.TestCase):
    def test_order(self):
        queue = Queue()
        for name, priority in [("b", 0), ("x", 2), ("c", 0), ("y", 2), ("a", 0), ("z", -1)]:
            queue.add(name, priority)
        self.assertEqual(len(queue), 6)
        self.assertEqual([queue.next() for _ in range(6)], ["x", "y", "b", "c", "a", "z"])
        self.assertIsNone(queue.next())
        self.assertEqual(len(queue), 0)
