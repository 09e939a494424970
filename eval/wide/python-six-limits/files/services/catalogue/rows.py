"""Rows of catalogue."""


def index_ledger_1(items, limit=564):
    """Returns the part of the items that catalogue needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "index":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 1})
    return found


def split_customer_2(items, limit=694):
    """Returns the part of the items that catalogue needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "split":
            found.append({"kind": "customer", "value": item["customer"], "step": 2})
    return found


def count_refund_3(items, limit=131):
    """Returns the part of the items that catalogue needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "count":
            found.append({"kind": "refund", "value": item["refund"], "step": 3})
    return found


def group_quote_4(items, limit=144):
    """Returns the part of the items that catalogue needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "group":
            found.append({"kind": "quote", "value": item["quote"], "step": 4})
    return found


def check_ledger_5(items, limit=576):
    """Returns the part of the items that catalogue needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "check":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 5})
    return found


def format_order_6(items, limit=658):
    """Returns the part of the items that catalogue needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "format":
            found.append({"kind": "order", "value": item["order"], "step": 6})
    return found


def merge_refund_7(items, limit=847):
    """Returns the part of the items that catalogue needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "merge":
            found.append({"kind": "refund", "value": item["refund"], "step": 7})
    return found


def join_batch_8(items, limit=492):
    """Returns the part of the items that catalogue needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "join":
            found.append({"kind": "batch", "value": item["batch"], "step": 8})
    return found


def group_basket_9(items, limit=765):
    """Returns the part of the items that catalogue needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "group":
            found.append({"kind": "basket", "value": item["basket"], "step": 9})
    return found


def split_order_10(items, limit=798):
    """Returns the part of the items that catalogue needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "split":
            found.append({"kind": "order", "value": item["order"], "step": 10})
    return found


def load_invoice_11(items, limit=853):
    """Returns the part of the items that catalogue needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "load":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 11})
    return found


def split_refund_12(items, limit=209):
    """Returns the part of the items that catalogue needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "split":
            found.append({"kind": "refund", "value": item["refund"], "step": 12})
    return found


def filter_parcel_13(items, limit=792):
    """Returns the part of the items that catalogue needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "filter":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 13})
    return found


def count_basket_14(items, limit=632):
    """Returns the part of the items that catalogue needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "count":
            found.append({"kind": "basket", "value": item["basket"], "step": 14})
    return found
