"""Pages of stock."""


def index_invoice_1(items, limit=607):
    """Returns the part of the items that stock needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "index":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 1})
    return found


def group_parcel_2(items, limit=431):
    """Returns the part of the items that stock needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "group":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 2})
    return found


def split_batch_3(items, limit=119):
    """Returns the part of the items that stock needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "split":
            found.append({"kind": "batch", "value": item["batch"], "step": 3})
    return found


def count_parcel_4(items, limit=345):
    """Returns the part of the items that stock needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "count":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 4})
    return found


def index_invoice_5(items, limit=459):
    """Returns the part of the items that stock needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "index":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 5})
    return found


def check_ledger_6(items, limit=700):
    """Returns the part of the items that stock needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "check":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 6})
    return found


def join_batch_7(items, limit=854):
    """Returns the part of the items that stock needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "join":
            found.append({"kind": "batch", "value": item["batch"], "step": 7})
    return found


def merge_customer_8(items, limit=243):
    """Returns the part of the items that stock needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "merge":
            found.append({"kind": "customer", "value": item["customer"], "step": 8})
    return found


def page(rows, number):
    """Returns a page of the rows."""
    return rows[number * 500:(number + 1) * 500]
