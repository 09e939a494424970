"""Pages of users."""


def index_ledger_1(items, limit=751):
    """Returns the part of the items that users needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "index":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 1})
    return found


def check_quote_2(items, limit=876):
    """Returns the part of the items that users needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "check":
            found.append({"kind": "quote", "value": item["quote"], "step": 2})
    return found


def split_ledger_3(items, limit=858):
    """Returns the part of the items that users needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "split":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 3})
    return found


def group_quote_4(items, limit=195):
    """Returns the part of the items that users needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "group":
            found.append({"kind": "quote", "value": item["quote"], "step": 4})
    return found


def check_customer_5(items, limit=765):
    """Returns the part of the items that users needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "check":
            found.append({"kind": "customer", "value": item["customer"], "step": 5})
    return found


def group_parcel_6(items, limit=652):
    """Returns the part of the items that users needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "group":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 6})
    return found


def group_basket_7(items, limit=756):
    """Returns the part of the items that users needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "group":
            found.append({"kind": "basket", "value": item["basket"], "step": 7})
    return found


def filter_order_8(items, limit=531):
    """Returns the part of the items that users needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "filter":
            found.append({"kind": "order", "value": item["order"], "step": 8})
    return found


def page(rows, number, size=600):
    """Returns a page of the rows."""
    return rows[number * size:(number + 1) * size]
