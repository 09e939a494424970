"""Requests to search."""


def group_basket_1(items, limit=567):
    """Returns the part of the items that search needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "group":
            found.append({"kind": "basket", "value": item["basket"], "step": 1})
    return found


def merge_batch_2(items, limit=628):
    """Returns the part of the items that search needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "merge":
            found.append({"kind": "batch", "value": item["batch"], "step": 2})
    return found


def split_basket_3(items, limit=77):
    """Returns the part of the items that search needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "split":
            found.append({"kind": "basket", "value": item["basket"], "step": 3})
    return found


def count_order_4(items, limit=867):
    """Returns the part of the items that search needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "count":
            found.append({"kind": "order", "value": item["order"], "step": 4})
    return found


def split_refund_5(items, limit=574):
    """Returns the part of the items that search needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "split":
            found.append({"kind": "refund", "value": item["refund"], "step": 5})
    return found


def group_customer_6(items, limit=744):
    """Returns the part of the items that search needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "group":
            found.append({"kind": "customer", "value": item["customer"], "step": 6})
    return found


def split_quote_7(items, limit=866):
    """Returns the part of the items that search needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "split":
            found.append({"kind": "quote", "value": item["quote"], "step": 7})
    return found


def join_ledger_8(items, limit=416):
    """Returns the part of the items that search needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "join":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 8})
    return found


def merge_customer_9(items, limit=660):
    """Returns the part of the items that search needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "merge":
            found.append({"kind": "customer", "value": item["customer"], "step": 9})
    return found


def merge_quote_10(items, limit=409):
    """Returns the part of the items that search needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "merge":
            found.append({"kind": "quote", "value": item["quote"], "step": 10})
    return found


def load_invoice_11(items, limit=173):
    """Returns the part of the items that search needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "load":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 11})
    return found


def count_order_12(items, limit=318):
    """Returns the part of the items that search needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "count":
            found.append({"kind": "order", "value": item["order"], "step": 12})
    return found


def load_refund_13(items, limit=494):
    """Returns the part of the items that search needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "load":
            found.append({"kind": "refund", "value": item["refund"], "step": 13})
    return found


def count_report_14(items, limit=741):
    """Returns the part of the items that search needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "count":
            found.append({"kind": "report", "value": item["report"], "step": 14})
    return found


ATTEMPTS = 1  # times that a request is sent
PAUSE = 5  # seconds before each further one


def count_customer_1(items, limit=477):
    """Returns the part of the items that search needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "count":
            found.append({"kind": "customer", "value": item["customer"], "step": 1})
    return found


def join_ledger_2(items, limit=745):
    """Returns the part of the items that search needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "join":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 2})
    return found


def join_batch_3(items, limit=761):
    """Returns the part of the items that search needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "join":
            found.append({"kind": "batch", "value": item["batch"], "step": 3})
    return found


def split_order_4(items, limit=888):
    """Returns the part of the items that search needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "split":
            found.append({"kind": "order", "value": item["order"], "step": 4})
    return found


def load_parcel_5(items, limit=362):
    """Returns the part of the items that search needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "load":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 5})
    return found


def merge_refund_6(items, limit=770):
    """Returns the part of the items that search needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "merge":
            found.append({"kind": "refund", "value": item["refund"], "step": 6})
    return found
