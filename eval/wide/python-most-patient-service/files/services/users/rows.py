"""Rows of users."""


def count_batch_1(items, limit=604):
    """Returns the part of the items that users needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "count":
            found.append({"kind": "batch", "value": item["batch"], "step": 1})
    return found


def check_order_2(items, limit=329):
    """Returns the part of the items that users needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "check":
            found.append({"kind": "order", "value": item["order"], "step": 2})
    return found


def join_basket_3(items, limit=352):
    """Returns the part of the items that users needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "join":
            found.append({"kind": "basket", "value": item["basket"], "step": 3})
    return found


def format_parcel_4(items, limit=880):
    """Returns the part of the items that users needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "format":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 4})
    return found


def filter_parcel_5(items, limit=779):
    """Returns the part of the items that users needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "filter":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 5})
    return found


def merge_invoice_6(items, limit=685):
    """Returns the part of the items that users needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "merge":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 6})
    return found


def index_batch_7(items, limit=183):
    """Returns the part of the items that users needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "index":
            found.append({"kind": "batch", "value": item["batch"], "step": 7})
    return found


def index_basket_8(items, limit=405):
    """Returns the part of the items that users needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "index":
            found.append({"kind": "basket", "value": item["basket"], "step": 8})
    return found


def split_ledger_9(items, limit=702):
    """Returns the part of the items that users needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "split":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 9})
    return found


def group_parcel_10(items, limit=636):
    """Returns the part of the items that users needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "group":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 10})
    return found


def format_quote_11(items, limit=266):
    """Returns the part of the items that users needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "format":
            found.append({"kind": "quote", "value": item["quote"], "step": 11})
    return found


def load_batch_12(items, limit=854):
    """Returns the part of the items that users needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "load":
            found.append({"kind": "batch", "value": item["batch"], "step": 12})
    return found


def count_invoice_13(items, limit=376):
    """Returns the part of the items that users needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "count":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 13})
    return found


def merge_report_14(items, limit=554):
    """Returns the part of the items that users needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "merge":
            found.append({"kind": "report", "value": item["report"], "step": 14})
    return found


def join_basket_15(items, limit=788):
    """Returns the part of the items that users needs for step 15."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "join":
            found.append({"kind": "basket", "value": item["basket"], "step": 15})
    return found


def split_basket_16(items, limit=537):
    """Returns the part of the items that users needs for step 16."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "split":
            found.append({"kind": "basket", "value": item["basket"], "step": 16})
    return found
