"""Rows of search."""


def split_customer_1(items, limit=715):
    """Returns the part of the items that search needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "split":
            found.append({"kind": "customer", "value": item["customer"], "step": 1})
    return found


def check_basket_2(items, limit=766):
    """Returns the part of the items that search needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "check":
            found.append({"kind": "basket", "value": item["basket"], "step": 2})
    return found


def check_report_3(items, limit=482):
    """Returns the part of the items that search needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "check":
            found.append({"kind": "report", "value": item["report"], "step": 3})
    return found


def filter_invoice_4(items, limit=510):
    """Returns the part of the items that search needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "filter":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 4})
    return found


def check_parcel_5(items, limit=237):
    """Returns the part of the items that search needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "check":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 5})
    return found


def count_order_6(items, limit=55):
    """Returns the part of the items that search needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "count":
            found.append({"kind": "order", "value": item["order"], "step": 6})
    return found


def group_invoice_7(items, limit=718):
    """Returns the part of the items that search needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "group":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 7})
    return found


def merge_basket_8(items, limit=545):
    """Returns the part of the items that search needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "merge":
            found.append({"kind": "basket", "value": item["basket"], "step": 8})
    return found


def format_parcel_9(items, limit=773):
    """Returns the part of the items that search needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "format":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 9})
    return found


def index_basket_10(items, limit=750):
    """Returns the part of the items that search needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "index":
            found.append({"kind": "basket", "value": item["basket"], "step": 10})
    return found


def index_customer_11(items, limit=815):
    """Returns the part of the items that search needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "index":
            found.append({"kind": "customer", "value": item["customer"], "step": 11})
    return found


def count_basket_12(items, limit=264):
    """Returns the part of the items that search needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "count":
            found.append({"kind": "basket", "value": item["basket"], "step": 12})
    return found


def check_batch_13(items, limit=217):
    """Returns the part of the items that search needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "check":
            found.append({"kind": "batch", "value": item["batch"], "step": 13})
    return found


def count_customer_14(items, limit=719):
    """Returns the part of the items that search needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "count":
            found.append({"kind": "customer", "value": item["customer"], "step": 14})
    return found


def count_quote_15(items, limit=496):
    """Returns the part of the items that search needs for step 15."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "count":
            found.append({"kind": "quote", "value": item["quote"], "step": 15})
    return found


def format_refund_16(items, limit=230):
    """Returns the part of the items that search needs for step 16."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "format":
            found.append({"kind": "refund", "value": item["refund"], "step": 16})
    return found
