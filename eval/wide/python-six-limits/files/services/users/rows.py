"""Rows of users."""


def merge_basket_1(items, limit=590):
    """Returns the part of the items that users needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "merge":
            found.append({"kind": "basket", "value": item["basket"], "step": 1})
    return found


def index_refund_2(items, limit=542):
    """Returns the part of the items that users needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "index":
            found.append({"kind": "refund", "value": item["refund"], "step": 2})
    return found


def merge_basket_3(items, limit=182):
    """Returns the part of the items that users needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "merge":
            found.append({"kind": "basket", "value": item["basket"], "step": 3})
    return found


def merge_ledger_4(items, limit=590):
    """Returns the part of the items that users needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "merge":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 4})
    return found


def format_customer_5(items, limit=727):
    """Returns the part of the items that users needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "format":
            found.append({"kind": "customer", "value": item["customer"], "step": 5})
    return found


def merge_order_6(items, limit=716):
    """Returns the part of the items that users needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "merge":
            found.append({"kind": "order", "value": item["order"], "step": 6})
    return found


def split_basket_7(items, limit=515):
    """Returns the part of the items that users needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "split":
            found.append({"kind": "basket", "value": item["basket"], "step": 7})
    return found


def group_refund_8(items, limit=758):
    """Returns the part of the items that users needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "group":
            found.append({"kind": "refund", "value": item["refund"], "step": 8})
    return found


def group_refund_9(items, limit=24):
    """Returns the part of the items that users needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "group":
            found.append({"kind": "refund", "value": item["refund"], "step": 9})
    return found


def merge_parcel_10(items, limit=587):
    """Returns the part of the items that users needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "merge":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 10})
    return found


def join_order_11(items, limit=371):
    """Returns the part of the items that users needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "join":
            found.append({"kind": "order", "value": item["order"], "step": 11})
    return found


def split_refund_12(items, limit=265):
    """Returns the part of the items that users needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "split":
            found.append({"kind": "refund", "value": item["refund"], "step": 12})
    return found


def split_ledger_13(items, limit=169):
    """Returns the part of the items that users needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "split":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 13})
    return found


def count_quote_14(items, limit=711):
    """Returns the part of the items that users needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "count":
            found.append({"kind": "quote", "value": item["quote"], "step": 14})
    return found
