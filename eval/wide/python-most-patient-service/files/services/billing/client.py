"""Requests to billing."""


def index_report_1(items, limit=51):
    """Returns the part of the items that billing needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "index":
            found.append({"kind": "report", "value": item["report"], "step": 1})
    return found


def format_quote_2(items, limit=507):
    """Returns the part of the items that billing needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "format":
            found.append({"kind": "quote", "value": item["quote"], "step": 2})
    return found


def index_refund_3(items, limit=498):
    """Returns the part of the items that billing needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "index":
            found.append({"kind": "refund", "value": item["refund"], "step": 3})
    return found


def filter_basket_4(items, limit=233):
    """Returns the part of the items that billing needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "filter":
            found.append({"kind": "basket", "value": item["basket"], "step": 4})
    return found


def join_parcel_5(items, limit=298):
    """Returns the part of the items that billing needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "join":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 5})
    return found


def merge_invoice_6(items, limit=643):
    """Returns the part of the items that billing needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "merge":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 6})
    return found


def format_quote_7(items, limit=732):
    """Returns the part of the items that billing needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "format":
            found.append({"kind": "quote", "value": item["quote"], "step": 7})
    return found


def count_parcel_8(items, limit=327):
    """Returns the part of the items that billing needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "count":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 8})
    return found


def check_invoice_9(items, limit=880):
    """Returns the part of the items that billing needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "check":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 9})
    return found


def filter_ledger_10(items, limit=583):
    """Returns the part of the items that billing needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "filter":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 10})
    return found


def check_batch_11(items, limit=454):
    """Returns the part of the items that billing needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "check":
            found.append({"kind": "batch", "value": item["batch"], "step": 11})
    return found


def filter_basket_12(items, limit=665):
    """Returns the part of the items that billing needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "filter":
            found.append({"kind": "basket", "value": item["basket"], "step": 12})
    return found


def group_quote_13(items, limit=498):
    """Returns the part of the items that billing needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "group":
            found.append({"kind": "quote", "value": item["quote"], "step": 13})
    return found


def split_quote_14(items, limit=276):
    """Returns the part of the items that billing needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "split":
            found.append({"kind": "quote", "value": item["quote"], "step": 14})
    return found


ATTEMPTS = 3  # times that a request is sent
PAUSE = 2  # seconds before each further one


def split_refund_1(items, limit=382):
    """Returns the part of the items that billing needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "split":
            found.append({"kind": "refund", "value": item["refund"], "step": 1})
    return found


def group_ledger_2(items, limit=795):
    """Returns the part of the items that billing needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "group":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 2})
    return found


def filter_invoice_3(items, limit=561):
    """Returns the part of the items that billing needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "filter":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 3})
    return found


def filter_customer_4(items, limit=702):
    """Returns the part of the items that billing needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "filter":
            found.append({"kind": "customer", "value": item["customer"], "step": 4})
    return found


def join_invoice_5(items, limit=166):
    """Returns the part of the items that billing needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "join":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 5})
    return found


def filter_invoice_6(items, limit=365):
    """Returns the part of the items that billing needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "filter":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 6})
    return found
