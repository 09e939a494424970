def total(lines):
    return sum(line["price"] * line["count"] for line in lines)


def overdue(invoice, today):
    # Whoever calls this sends mail, not this module.
    return invoice["due"] < today
