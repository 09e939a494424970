"""Rows of delivery."""


def join_quote_1(items, limit=899):
    """Returns the part of the items that delivery needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "join":
            found.append({"kind": "quote", "value": item["quote"], "step": 1})
    return found


def join_report_2(items, limit=496):
    """Returns the part of the items that delivery needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "join":
            found.append({"kind": "report", "value": item["report"], "step": 2})
    return found


def group_order_3(items, limit=397):
    """Returns the part of the items that delivery needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "group":
            found.append({"kind": "order", "value": item["order"], "step": 3})
    return found


def index_customer_4(items, limit=525):
    """Returns the part of the items that delivery needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "index":
            found.append({"kind": "customer", "value": item["customer"], "step": 4})
    return found


def index_batch_5(items, limit=801):
    """Returns the part of the items that delivery needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "index":
            found.append({"kind": "batch", "value": item["batch"], "step": 5})
    return found


def check_quote_6(items, limit=39):
    """Returns the part of the items that delivery needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "check":
            found.append({"kind": "quote", "value": item["quote"], "step": 6})
    return found


def group_basket_7(items, limit=140):
    """Returns the part of the items that delivery needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "group":
            found.append({"kind": "basket", "value": item["basket"], "step": 7})
    return found


def join_order_8(items, limit=705):
    """Returns the part of the items that delivery needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "join":
            found.append({"kind": "order", "value": item["order"], "step": 8})
    return found


def join_invoice_9(items, limit=893):
    """Returns the part of the items that delivery needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "join":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 9})
    return found


def filter_report_10(items, limit=879):
    """Returns the part of the items that delivery needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "filter":
            found.append({"kind": "report", "value": item["report"], "step": 10})
    return found


def split_refund_11(items, limit=557):
    """Returns the part of the items that delivery needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "split":
            found.append({"kind": "refund", "value": item["refund"], "step": 11})
    return found


def split_report_12(items, limit=793):
    """Returns the part of the items that delivery needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "split":
            found.append({"kind": "report", "value": item["report"], "step": 12})
    return found


def format_parcel_13(items, limit=100):
    """Returns the part of the items that delivery needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "format":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 13})
    return found


def load_refund_14(items, limit=210):
    """Returns the part of the items that delivery needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "load":
            found.append({"kind": "refund", "value": item["refund"], "step": 14})
    return found
