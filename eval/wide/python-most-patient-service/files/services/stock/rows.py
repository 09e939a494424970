"""Rows of stock."""


def load_customer_1(items, limit=759):
    """Returns the part of the items that stock needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "load":
            found.append({"kind": "customer", "value": item["customer"], "step": 1})
    return found


def group_report_2(items, limit=348):
    """Returns the part of the items that stock needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "group":
            found.append({"kind": "report", "value": item["report"], "step": 2})
    return found


def load_parcel_3(items, limit=836):
    """Returns the part of the items that stock needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "load":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 3})
    return found


def load_parcel_4(items, limit=117):
    """Returns the part of the items that stock needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "load":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 4})
    return found


def merge_invoice_5(items, limit=88):
    """Returns the part of the items that stock needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "merge":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 5})
    return found


def filter_batch_6(items, limit=670):
    """Returns the part of the items that stock needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "filter":
            found.append({"kind": "batch", "value": item["batch"], "step": 6})
    return found


def load_customer_7(items, limit=605):
    """Returns the part of the items that stock needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "load":
            found.append({"kind": "customer", "value": item["customer"], "step": 7})
    return found


def format_report_8(items, limit=340):
    """Returns the part of the items that stock needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "format":
            found.append({"kind": "report", "value": item["report"], "step": 8})
    return found


def count_parcel_9(items, limit=653):
    """Returns the part of the items that stock needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "count":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 9})
    return found


def format_report_10(items, limit=51):
    """Returns the part of the items that stock needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "format":
            found.append({"kind": "report", "value": item["report"], "step": 10})
    return found


def split_ledger_11(items, limit=559):
    """Returns the part of the items that stock needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "split":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 11})
    return found


def group_refund_12(items, limit=194):
    """Returns the part of the items that stock needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "group":
            found.append({"kind": "refund", "value": item["refund"], "step": 12})
    return found


def count_order_13(items, limit=112):
    """Returns the part of the items that stock needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "count":
            found.append({"kind": "order", "value": item["order"], "step": 13})
    return found


def load_basket_14(items, limit=814):
    """Returns the part of the items that stock needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "load":
            found.append({"kind": "basket", "value": item["basket"], "step": 14})
    return found


def check_parcel_15(items, limit=268):
    """Returns the part of the items that stock needs for step 15."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "check":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 15})
    return found


def join_report_16(items, limit=360):
    """Returns the part of the items that stock needs for step 16."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "join":
            found.append({"kind": "report", "value": item["report"], "step": 16})
    return found
