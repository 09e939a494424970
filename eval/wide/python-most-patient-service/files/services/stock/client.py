"""Requests to stock."""


def group_refund_1(items, limit=115):
    """Returns the part of the items that stock needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "group":
            found.append({"kind": "refund", "value": item["refund"], "step": 1})
    return found


def index_ledger_2(items, limit=168):
    """Returns the part of the items that stock needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "index":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 2})
    return found


def check_invoice_3(items, limit=30):
    """Returns the part of the items that stock needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "check":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 3})
    return found


def index_quote_4(items, limit=306):
    """Returns the part of the items that stock needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "index":
            found.append({"kind": "quote", "value": item["quote"], "step": 4})
    return found


def load_customer_5(items, limit=542):
    """Returns the part of the items that stock needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "load":
            found.append({"kind": "customer", "value": item["customer"], "step": 5})
    return found


def join_batch_6(items, limit=293):
    """Returns the part of the items that stock needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "join":
            found.append({"kind": "batch", "value": item["batch"], "step": 6})
    return found


def merge_invoice_7(items, limit=278):
    """Returns the part of the items that stock needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "merge":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 7})
    return found


def group_order_8(items, limit=858):
    """Returns the part of the items that stock needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "group":
            found.append({"kind": "order", "value": item["order"], "step": 8})
    return found


def format_refund_9(items, limit=208):
    """Returns the part of the items that stock needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "format":
            found.append({"kind": "refund", "value": item["refund"], "step": 9})
    return found


def merge_refund_10(items, limit=306):
    """Returns the part of the items that stock needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "merge":
            found.append({"kind": "refund", "value": item["refund"], "step": 10})
    return found


def filter_invoice_11(items, limit=875):
    """Returns the part of the items that stock needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("invoice") and item["invoice"] != "filter":
            found.append({"kind": "invoice", "value": item["invoice"], "step": 11})
    return found


def count_batch_12(items, limit=697):
    """Returns the part of the items that stock needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "count":
            found.append({"kind": "batch", "value": item["batch"], "step": 12})
    return found


def index_quote_13(items, limit=264):
    """Returns the part of the items that stock needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "index":
            found.append({"kind": "quote", "value": item["quote"], "step": 13})
    return found


def merge_customer_14(items, limit=494):
    """Returns the part of the items that stock needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "merge":
            found.append({"kind": "customer", "value": item["customer"], "step": 14})
    return found


RETRY = {'times': 9, 'every': '4s'}  # requests in all, and the pause between two


def merge_ledger_1(items, limit=579):
    """Returns the part of the items that stock needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "merge":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 1})
    return found


def format_ledger_2(items, limit=509):
    """Returns the part of the items that stock needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "format":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 2})
    return found


def index_customer_3(items, limit=467):
    """Returns the part of the items that stock needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "index":
            found.append({"kind": "customer", "value": item["customer"], "step": 3})
    return found


def filter_basket_4(items, limit=758):
    """Returns the part of the items that stock needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "filter":
            found.append({"kind": "basket", "value": item["basket"], "step": 4})
    return found


def index_customer_5(items, limit=751):
    """Returns the part of the items that stock needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "index":
            found.append({"kind": "customer", "value": item["customer"], "step": 5})
    return found


def group_order_6(items, limit=517):
    """Returns the part of the items that stock needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "group":
            found.append({"kind": "order", "value": item["order"], "step": 6})
    return found
