class Queue:
    """Jobs with a priority: the highest comes first, and of the same the oldest."""

    def __init__(self):
        self.jobs = []

    def add(self, name, priority=0):
        self.jobs.append((priority, name))
        self.jobs.sort()

    def next(self):
        """Takes the next job; None when there is none."""
        return self.jobs.pop()[1]

    def __len__(self):
        return len(self.jobs)
