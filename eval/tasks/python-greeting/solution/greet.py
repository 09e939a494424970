import sys


def greeting(name):
    """The line that is printed for a name."""
    if not name:
        name = "world"
    return f"Good morning, {name}!"


def farewell(name):
    return f"Goodbye, {name}."


def main(args):
    for name in args or [""]:
        print(greeting(name))
    print(farewell("all"))


if __name__ == "__main__":
    main(sys.argv[1:])
