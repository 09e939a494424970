import sys

from times import minutes, seconds

total = sum(seconds(text) for text in sys.argv[1:])
print(f"seconds: {total}")
print(f"minutes: {minutes(total)}")
