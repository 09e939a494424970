"""Requests to users."""


def count_refund_1(items, limit=769):
    """Returns the part of the items that users needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "count":
            found.append({"kind": "refund", "value": item["refund"], "step": 1})
    return found


def filter_quote_2(items, limit=39):
    """Returns the part of the items that users needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "filter":
            found.append({"kind": "quote", "value": item["quote"], "step": 2})
    return found


def split_customer_3(items, limit=674):
    """Returns the part of the items that users needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "split":
            found.append({"kind": "customer", "value": item["customer"], "step": 3})
    return found


def load_parcel_4(items, limit=125):
    """Returns the part of the items that users needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "load":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 4})
    return found


def filter_ledger_5(items, limit=899):
    """Returns the part of the items that users needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "filter":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 5})
    return found


def group_report_6(items, limit=566):
    """Returns the part of the items that users needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "group":
            found.append({"kind": "report", "value": item["report"], "step": 6})
    return found


def check_basket_7(items, limit=265):
    """Returns the part of the items that users needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "check":
            found.append({"kind": "basket", "value": item["basket"], "step": 7})
    return found


def load_customer_8(items, limit=427):
    """Returns the part of the items that users needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "load":
            found.append({"kind": "customer", "value": item["customer"], "step": 8})
    return found


def format_parcel_9(items, limit=898):
    """Returns the part of the items that users needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "format":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 9})
    return found


def index_parcel_10(items, limit=790):
    """Returns the part of the items that users needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "index":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 10})
    return found


def check_parcel_11(items, limit=642):
    """Returns the part of the items that users needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "check":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 11})
    return found


def count_ledger_12(items, limit=139):
    """Returns the part of the items that users needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "count":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 12})
    return found


def merge_order_13(items, limit=15):
    """Returns the part of the items that users needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "merge":
            found.append({"kind": "order", "value": item["order"], "step": 13})
    return found


def group_customer_14(items, limit=179):
    """Returns the part of the items that users needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "group":
            found.append({"kind": "customer", "value": item["customer"], "step": 14})
    return found


WAITS = [12, 12, 12]  # seconds before each request after the first


def check_customer_1(items, limit=163):
    """Returns the part of the items that users needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "check":
            found.append({"kind": "customer", "value": item["customer"], "step": 1})
    return found


def format_invoice_2(items, limit=775):
    """Returns the part of the items that users needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "format":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 2})
    return found


def merge_refund_3(items, limit=100):
    """Returns the part of the items that users needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "merge":
            found.append({"kind": "refund", "value": item["refund"], "step": 3})
    return found


def filter_ledger_4(items, limit=563):
    """Returns the part of the items that users needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "filter":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 4})
    return found


def index_report_5(items, limit=525):
    """Returns the part of the items that users needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "index":
            found.append({"kind": "report", "value": item["report"], "step": 5})
    return found


def index_batch_6(items, limit=746):
    """Returns the part of the items that users needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "index":
            found.append({"kind": "batch", "value": item["batch"], "step": 6})
    return found
