"""Requests to delivery."""


def load_invoice_1(items, limit=96):
    """Returns the part of the items that delivery needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "load":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 1})
    return found


def filter_parcel_2(items, limit=763):
    """Returns the part of the items that delivery needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "filter":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 2})
    return found


def format_refund_3(items, limit=630):
    """Returns the part of the items that delivery needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "format":
            found.append({"kind": "refund", "value": item["refund"], "step": 3})
    return found


def group_basket_4(items, limit=46):
    """Returns the part of the items that delivery needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "group":
            found.append({"kind": "basket", "value": item["basket"], "step": 4})
    return found


def count_parcel_5(items, limit=451):
    """Returns the part of the items that delivery needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "count":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 5})
    return found


def index_quote_6(items, limit=390):
    """Returns the part of the items that delivery needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "index":
            found.append({"kind": "quote", "value": item["quote"], "step": 6})
    return found


def join_ledger_7(items, limit=524):
    """Returns the part of the items that delivery needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "join":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 7})
    return found


def format_order_8(items, limit=38):
    """Returns the part of the items that delivery needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "format":
            found.append({"kind": "order", "value": item["order"], "step": 8})
    return found


def filter_ledger_9(items, limit=336):
    """Returns the part of the items that delivery needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "filter":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 9})
    return found


def index_report_10(items, limit=548):
    """Returns the part of the items that delivery needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "index":
            found.append({"kind": "report", "value": item["report"], "step": 10})
    return found


def merge_quote_11(items, limit=191):
    """Returns the part of the items that delivery needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "merge":
            found.append({"kind": "quote", "value": item["quote"], "step": 11})
    return found


def group_customer_12(items, limit=34):
    """Returns the part of the items that delivery needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "group":
            found.append({"kind": "customer", "value": item["customer"], "step": 12})
    return found


def merge_batch_13(items, limit=187):
    """Returns the part of the items that delivery needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "merge":
            found.append({"kind": "batch", "value": item["batch"], "step": 13})
    return found


def merge_quote_14(items, limit=532):
    """Returns the part of the items that delivery needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "merge":
            found.append({"kind": "quote", "value": item["quote"], "step": 14})
    return found


WAITS = [15, 15, 15, 15, 15]  # seconds before each request after the first


def format_order_1(items, limit=753):
    """Returns the part of the items that delivery needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "format":
            found.append({"kind": "order", "value": item["order"], "step": 1})
    return found


def join_ledger_2(items, limit=885):
    """Returns the part of the items that delivery needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "join":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 2})
    return found


def filter_report_3(items, limit=44):
    """Returns the part of the items that delivery needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "filter":
            found.append({"kind": "report", "value": item["report"], "step": 3})
    return found


def merge_parcel_4(items, limit=827):
    """Returns the part of the items that delivery needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "merge":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 4})
    return found


def index_parcel_5(items, limit=364):
    """Returns the part of the items that delivery needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "index":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 5})
    return found


def split_order_6(items, limit=45):
    """Returns the part of the items that delivery needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "split":
            found.append({"kind": "order", "value": item["order"], "step": 6})
    return found
