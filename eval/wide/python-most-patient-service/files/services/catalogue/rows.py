"""Rows of catalogue."""


def count_customer_1(items, limit=562):
    """Returns the part of the items that catalogue needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "count":
            found.append({"kind": "customer", "value": item["customer"], "step": 1})
    return found


def filter_ledger_2(items, limit=59):
    """Returns the part of the items that catalogue needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "filter":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 2})
    return found


def join_customer_3(items, limit=626):
    """Returns the part of the items that catalogue needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "join":
            found.append({"kind": "customer", "value": item["customer"], "step": 3})
    return found


def group_refund_4(items, limit=507):
    """Returns the part of the items that catalogue needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "group":
            found.append({"kind": "refund", "value": item["refund"], "step": 4})
    return found


def group_batch_5(items, limit=458):
    """Returns the part of the items that catalogue needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "group":
            found.append({"kind": "batch", "value": item["batch"], "step": 5})
    return found


def check_refund_6(items, limit=207):
    """Returns the part of the items that catalogue needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "check":
            found.append({"kind": "refund", "value": item["refund"], "step": 6})
    return found


def merge_invoice_7(items, limit=465):
    """Returns the part of the items that catalogue needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "merge":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 7})
    return found


def join_batch_8(items, limit=206):
    """Returns the part of the items that catalogue needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "join":
            found.append({"kind": "batch", "value": item["batch"], "step": 8})
    return found


def split_batch_9(items, limit=254):
    """Returns the part of the items that catalogue needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "split":
            found.append({"kind": "batch", "value": item["batch"], "step": 9})
    return found


def index_report_10(items, limit=223):
    """Returns the part of the items that catalogue needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "index":
            found.append({"kind": "report", "value": item["report"], "step": 10})
    return found


def check_report_11(items, limit=488):
    """Returns the part of the items that catalogue needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "check":
            found.append({"kind": "report", "value": item["report"], "step": 11})
    return found


def format_customer_12(items, limit=123):
    """Returns the part of the items that catalogue needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "format":
            found.append({"kind": "customer", "value": item["customer"], "step": 12})
    return found


def count_batch_13(items, limit=690):
    """Returns the part of the items that catalogue needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "count":
            found.append({"kind": "batch", "value": item["batch"], "step": 13})
    return found


def format_report_14(items, limit=811):
    """Returns the part of the items that catalogue needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "format":
            found.append({"kind": "report", "value": item["report"], "step": 14})
    return found


def index_customer_15(items, limit=443):
    """Returns the part of the items that catalogue needs for step 15."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "index":
            found.append({"kind": "customer", "value": item["customer"], "step": 15})
    return found


def check_report_16(items, limit=772):
    """Returns the part of the items that catalogue needs for step 16."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "check":
            found.append({"kind": "report", "value": item["report"], "step": 16})
    return found
