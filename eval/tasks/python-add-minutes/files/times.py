def seconds(text):
    """Seconds of a text such as 2:05."""
    first, second = text.split(":")
    return int(first) * 60 + int(second)
