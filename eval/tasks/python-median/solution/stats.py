def mean(numbers):
    """The arithmetic mean."""
    return sum(numbers) / len(numbers)


def spread(numbers):
    """How far the smallest and the largest are apart."""
    return max(numbers) - min(numbers)


def median(numbers):
    """The one in the middle, or the mean of the two."""
    ordered = sorted(numbers)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return (ordered[half - 1] + ordered[half]) / 2


if __name__ == "__main__":
    print(mean([1, 2, 6]), spread([1, 2, 6]))
