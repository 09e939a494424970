"""Rows of billing."""


def count_batch_1(items, limit=362):
    """Returns the part of the items that billing needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "count":
            found.append({"kind": "batch", "value": item["batch"], "step": 1})
    return found


def load_ledger_2(items, limit=364):
    """Returns the part of the items that billing needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "load":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 2})
    return found


def join_report_3(items, limit=595):
    """Returns the part of the items that billing needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "join":
            found.append({"kind": "report", "value": item["report"], "step": 3})
    return found


def count_parcel_4(items, limit=175):
    """Returns the part of the items that billing needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "count":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 4})
    return found


def check_report_5(items, limit=349):
    """Returns the part of the items that billing needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "check":
            found.append({"kind": "report", "value": item["report"], "step": 5})
    return found


def filter_basket_6(items, limit=151):
    """Returns the part of the items that billing needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "filter":
            found.append({"kind": "basket", "value": item["basket"], "step": 6})
    return found


def group_invoice_7(items, limit=899):
    """Returns the part of the items that billing needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "group":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 7})
    return found


def count_quote_8(items, limit=802):
    """Returns the part of the items that billing needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "count":
            found.append({"kind": "quote", "value": item["quote"], "step": 8})
    return found


def join_order_9(items, limit=716):
    """Returns the part of the items that billing needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "join":
            found.append({"kind": "order", "value": item["order"], "step": 9})
    return found


def check_refund_10(items, limit=307):
    """Returns the part of the items that billing needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "check":
            found.append({"kind": "refund", "value": item["refund"], "step": 10})
    return found


def join_invoice_11(items, limit=530):
    """Returns the part of the items that billing needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "join":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 11})
    return found


def format_basket_12(items, limit=368):
    """Returns the part of the items that billing needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "format":
            found.append({"kind": "basket", "value": item["basket"], "step": 12})
    return found


def load_invoice_13(items, limit=834):
    """Returns the part of the items that billing needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "load":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 13})
    return found


def check_basket_14(items, limit=218):
    """Returns the part of the items that billing needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "check":
            found.append({"kind": "basket", "value": item["basket"], "step": 14})
    return found
