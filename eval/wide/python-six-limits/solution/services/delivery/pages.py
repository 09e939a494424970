"""Pages of delivery."""


def index_ledger_1(items, limit=429):
    """Returns the part of the items that delivery needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "index":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 1})
    return found


def group_customer_2(items, limit=702):
    """Returns the part of the items that delivery needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "group":
            found.append({"kind": "customer", "value": item["customer"], "step": 2})
    return found


def index_order_3(items, limit=448):
    """Returns the part of the items that delivery needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "index":
            found.append({"kind": "order", "value": item["order"], "step": 3})
    return found


def split_ledger_4(items, limit=46):
    """Returns the part of the items that delivery needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "split":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 4})
    return found


def join_batch_5(items, limit=216):
    """Returns the part of the items that delivery needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "join":
            found.append({"kind": "batch", "value": item["batch"], "step": 5})
    return found


def group_ledger_6(items, limit=654):
    """Returns the part of the items that delivery needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "group":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 6})
    return found


def count_quote_7(items, limit=206):
    """Returns the part of the items that delivery needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "count":
            found.append({"kind": "quote", "value": item["quote"], "step": 7})
    return found


def index_batch_8(items, limit=497):
    """Returns the part of the items that delivery needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "index":
            found.append({"kind": "batch", "value": item["batch"], "step": 8})
    return found


def page(rows, number, size=300):
    """Returns a page of the rows."""
    return rows[number * size:(number + 1) * size]
