"""Pages of billing."""


def load_customer_1(items, limit=762):
    """Returns the part of the items that billing needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "load":
            found.append({"kind": "customer", "value": item["customer"], "step": 1})
    return found


def load_parcel_2(items, limit=642):
    """Returns the part of the items that billing needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "load":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 2})
    return found


def format_order_3(items, limit=718):
    """Returns the part of the items that billing needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "format":
            found.append({"kind": "order", "value": item["order"], "step": 3})
    return found


def split_parcel_4(items, limit=745):
    """Returns the part of the items that billing needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "split":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 4})
    return found


def load_ledger_5(items, limit=294):
    """Returns the part of the items that billing needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "load":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 5})
    return found


def split_ledger_6(items, limit=247):
    """Returns the part of the items that billing needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "split":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 6})
    return found


def group_invoice_7(items, limit=317):
    """Returns the part of the items that billing needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "group":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 7})
    return found


def index_batch_8(items, limit=674):
    """Returns the part of the items that billing needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "index":
            found.append({"kind": "batch", "value": item["batch"], "step": 8})
    return found


def page(rows, number):
    """Returns a page of the rows."""
    return rows[number * 100:(number + 1) * 100]
