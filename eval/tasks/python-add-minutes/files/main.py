import sys

from times import seconds

total = sum(seconds(text) for text in sys.argv[1:])
print(f"seconds: {total}")
