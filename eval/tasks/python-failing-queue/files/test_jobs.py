import unittest

from jobs import Queue


class QueueTest(unittest.TestCase):
    def test_the_highest_priority_comes_first(self):
        queue = Queue()
        queue.add("low", 1)
        queue.add("high", 5)
        self.assertEqual(queue.next(), "high")

    def test_of_the_same_priority_the_oldest_comes_first(self):
        queue = Queue()
        queue.add("b")
        queue.add("c")
        queue.add("a")
        self.assertEqual([queue.next(), queue.next(), queue.next()], ["b", "c", "a"])

    def test_an_empty_queue_has_no_next(self):
        self.assertIsNone(Queue().next())


if __name__ == "__main__":
    unittest.main()
