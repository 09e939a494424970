"""Rows of stock."""


def merge_customer_1(items, limit=447):
    """Returns the part of the items that stock needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "merge":
            found.append({"kind": "customer", "value": item["customer"], "step": 1})
    return found


def join_ledger_2(items, limit=66):
    """Returns the part of the items that stock needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "join":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 2})
    return found


def group_refund_3(items, limit=260):
    """Returns the part of the items that stock needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "group":
            found.append({"kind": "refund", "value": item["refund"], "step": 3})
    return found


def count_customer_4(items, limit=784):
    """Returns the part of the items that stock needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "count":
            found.append({"kind": "customer", "value": item["customer"], "step": 4})
    return found


def load_order_5(items, limit=306):
    """Returns the part of the items that stock needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "load":
            found.append({"kind": "order", "value": item["order"], "step": 5})
    return found


def format_invoice_6(items, limit=317):
    """Returns the part of the items that stock needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "format":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 6})
    return found


def index_parcel_7(items, limit=200):
    """Returns the part of the items that stock needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "index":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 7})
    return found


def index_ledger_8(items, limit=588):
    """Returns the part of the items that stock needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "index":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 8})
    return found


def filter_basket_9(items, limit=223):
    """Returns the part of the items that stock needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "filter":
            found.append({"kind": "basket", "value": item["basket"], "step": 9})
    return found


def format_basket_10(items, limit=793):
    """Returns the part of the items that stock needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "format":
            found.append({"kind": "basket", "value": item["basket"], "step": 10})
    return found


def count_ledger_11(items, limit=339):
    """Returns the part of the items that stock needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "count":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 11})
    return found


def check_parcel_12(items, limit=284):
    """Returns the part of the items that stock needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "check":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 12})
    return found


def count_batch_13(items, limit=541):
    """Returns the part of the items that stock needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "count":
            found.append({"kind": "batch", "value": item["batch"], "step": 13})
    return found


def index_ledger_14(items, limit=829):
    """Returns the part of the items that stock needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "index":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 14})
    return found
