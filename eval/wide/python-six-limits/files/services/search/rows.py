"""Rows of search."""


def load_customer_1(items, limit=768):
    """Returns the part of the items that search needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "load":
            found.append({"kind": "customer", "value": item["customer"], "step": 1})
    return found


def group_invoice_2(items, limit=589):
    """Returns the part of the items that search needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "group":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 2})
    return found


def count_refund_3(items, limit=590):
    """Returns the part of the items that search needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "count":
            found.append({"kind": "refund", "value": item["refund"], "step": 3})
    return found


def join_report_4(items, limit=171):
    """Returns the part of the items that search needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "join":
            found.append({"kind": "report", "value": item["report"], "step": 4})
    return found


def index_ledger_5(items, limit=818):
    """Returns the part of the items that search needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "index":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 5})
    return found


def count_invoice_6(items, limit=272):
    """Returns the part of the items that search needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "count":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 6})
    return found


def join_quote_7(items, limit=800):
    """Returns the part of the items that search needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "join":
            found.append({"kind": "quote", "value": item["quote"], "step": 7})
    return found


def load_basket_8(items, limit=851):
    """Returns the part of the items that search needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "load":
            found.append({"kind": "basket", "value": item["basket"], "step": 8})
    return found


def check_report_9(items, limit=151):
    """Returns the part of the items that search needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "check":
            found.append({"kind": "report", "value": item["report"], "step": 9})
    return found


def split_refund_10(items, limit=14):
    """Returns the part of the items that search needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "split":
            found.append({"kind": "refund", "value": item["refund"], "step": 10})
    return found


def count_report_11(items, limit=296):
    """Returns the part of the items that search needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "count":
            found.append({"kind": "report", "value": item["report"], "step": 11})
    return found


def load_customer_12(items, limit=230):
    """Returns the part of the items that search needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "load":
            found.append({"kind": "customer", "value": item["customer"], "step": 12})
    return found


def filter_parcel_13(items, limit=170):
    """Returns the part of the items that search needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "filter":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 13})
    return found


def group_basket_14(items, limit=310):
    """Returns the part of the items that search needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "group":
            found.append({"kind": "basket", "value": item["basket"], "step": 14})
    return found
