class Queue:
    """Jobs with a priority: the highest comes first, and of the same the oldest."""

    def __init__(self):
        self.jobs = []

    def add(self, name, priority=0):
        self.jobs.append((priority, name))
        self.jobs.sort(key=lambda job: -job[0])

    def next(self):
        """Takes the next job; None when there is none."""
        return self.jobs.pop(0)[1] if self.jobs else None

    def __len__(self):
        return len(self.jobs)
