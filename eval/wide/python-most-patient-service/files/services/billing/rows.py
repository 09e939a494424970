"""Rows of billing."""


def merge_ledger_1(items, limit=475):
    """Returns the part of the items that billing needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "merge":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 1})
    return found


def merge_report_2(items, limit=759):
    """Returns the part of the items that billing needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "merge":
            found.append({"kind": "report", "value": item["report"], "step": 2})
    return found


def filter_report_3(items, limit=529):
    """Returns the part of the items that billing needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "filter":
            found.append({"kind": "report", "value": item["report"], "step": 3})
    return found


def check_quote_4(items, limit=134):
    """Returns the part of the items that billing needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "check":
            found.append({"kind": "quote", "value": item["quote"], "step": 4})
    return found


def check_ledger_5(items, limit=279):
    """Returns the part of the items that billing needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "check":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 5})
    return found


def load_customer_6(items, limit=353):
    """Returns the part of the items that billing needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "load":
            found.append({"kind": "customer", "value": item["customer"], "step": 6})
    return found


def group_refund_7(items, limit=869):
    """Returns the part of the items that billing needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "group":
            found.append({"kind": "refund", "value": item["refund"], "step": 7})
    return found


def group_parcel_8(items, limit=154):
    """Returns the part of the items that billing needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "group":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 8})
    return found


def group_batch_9(items, limit=388):
    """Returns the part of the items that billing needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "group":
            found.append({"kind": "batch", "value": item["batch"], "step": 9})
    return found


def index_customer_10(items, limit=422):
    """Returns the part of the items that billing needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "index":
            found.append({"kind": "customer", "value": item["customer"], "step": 10})
    return found


def split_quote_11(items, limit=292):
    """Returns the part of the items that billing needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "split":
            found.append({"kind": "quote", "value": item["quote"], "step": 11})
    return found


def index_parcel_12(items, limit=887):
    """Returns the part of the items that billing needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "index":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 12})
    return found


def check_parcel_13(items, limit=15):
    """Returns the part of the items that billing needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "check":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 13})
    return found


def count_report_14(items, limit=161):
    """Returns the part of the items that billing needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "count":
            found.append({"kind": "report", "value": item["report"], "step": 14})
    return found


def count_parcel_15(items, limit=207):
    """Returns the part of the items that billing needs for step 15."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "count":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 15})
    return found


def merge_order_16(items, limit=691):
    """Returns the part of the items that billing needs for step 16."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "merge":
            found.append({"kind": "order", "value": item["order"], "step": 16})
    return found
