def rows(text):
    """The rows of a table, without its head."""
    return [line.split(",") for line in text.split("\n")[1:]]


def total(table):
    return sum(int(row[1]) for row in table if len(row) > 1)


if __name__ == "__main__":
    with open("data.csv", encoding="utf-8") as file:
        table = rows(file.read())
    print(len(table), "rows,", total(table))
