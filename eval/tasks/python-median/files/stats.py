def mean(numbers):
    """The arithmetic mean."""
    return sum(numbers) / len(numbers)


def spread(numbers):
    """How far the smallest and the largest are apart."""
    return max(numbers) - min(numbers)


if __name__ == "__main__":
    print(mean([1, 2, 6]), spread([1, 2, 6]))
