"""Pages of catalogue."""


def check_batch_1(items, limit=440):
    """Returns the part of the items that catalogue needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "check":
            found.append({"kind": "batch", "value": item["batch"], "step": 1})
    return found


def load_refund_2(items, limit=344):
    """Returns the part of the items that catalogue needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "load":
            found.append({"kind": "refund", "value": item["refund"], "step": 2})
    return found


def split_basket_3(items, limit=781):
    """Returns the part of the items that catalogue needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "split":
            found.append({"kind": "basket", "value": item["basket"], "step": 3})
    return found


def format_ledger_4(items, limit=503):
    """Returns the part of the items that catalogue needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "format":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 4})
    return found


def join_basket_5(items, limit=495):
    """Returns the part of the items that catalogue needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "join":
            found.append({"kind": "basket", "value": item["basket"], "step": 5})
    return found


def merge_basket_6(items, limit=498):
    """Returns the part of the items that catalogue needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "merge":
            found.append({"kind": "basket", "value": item["basket"], "step": 6})
    return found


def load_quote_7(items, limit=245):
    """Returns the part of the items that catalogue needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "load":
            found.append({"kind": "quote", "value": item["quote"], "step": 7})
    return found


def group_customer_8(items, limit=24):
    """Returns the part of the items that catalogue needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "group":
            found.append({"kind": "customer", "value": item["customer"], "step": 8})
    return found


def page(rows, number, size=200):
    """Returns a page of the rows."""
    return rows[number * size:(number + 1) * size]
