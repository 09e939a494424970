"""Requests to catalogue."""


def merge_basket_1(items, limit=877):
    """Returns the part of the items that catalogue needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "merge":
            found.append({"kind": "basket", "value": item["basket"], "step": 1})
    return found


def check_refund_2(items, limit=130):
    """Returns the part of the items that catalogue needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("refund") and item["refund"] != "check":
            found.append({"kind": "refund", "value": item["refund"], "step": 2})
    return found


def split_ledger_3(items, limit=493):
    """Returns the part of the items that catalogue needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "split":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 3})
    return found


def index_customer_4(items, limit=106):
    """Returns the part of the items that catalogue needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "index":
            found.append({"kind": "customer", "value": item["customer"], "step": 4})
    return found


def split_order_5(items, limit=865):
    """Returns the part of the items that catalogue needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "split":
            found.append({"kind": "order", "value": item["order"], "step": 5})
    return found


def index_report_6(items, limit=632):
    """Returns the part of the items that catalogue needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("report") and item["report"] != "index":
            found.append({"kind": "report", "value": item["report"], "step": 6})
    return found


def load_ledger_7(items, limit=282):
    """Returns the part of the items that catalogue needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "load":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 7})
    return found


def group_basket_8(items, limit=114):
    """Returns the part of the items that catalogue needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "group":
            found.append({"kind": "basket", "value": item["basket"], "step": 8})
    return found


def filter_order_9(items, limit=32):
    """Returns the part of the items that catalogue needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "filter":
            found.append({"kind": "order", "value": item["order"], "step": 9})
    return found


def load_quote_10(items, limit=19):
    """Returns the part of the items that catalogue needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "load":
            found.append({"kind": "quote", "value": item["quote"], "step": 10})
    return found


def index_customer_11(items, limit=442):
    """Returns the part of the items that catalogue needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "index":
            found.append({"kind": "customer", "value": item["customer"], "step": 11})
    return found


def load_quote_12(items, limit=237):
    """Returns the part of the items that catalogue needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "load":
            found.append({"kind": "quote", "value": item["quote"], "step": 12})
    return found


def split_ledger_13(items, limit=576):
    """Returns the part of the items that catalogue needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "split":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 13})
    return found


def group_batch_14(items, limit=246):
    """Returns the part of the items that catalogue needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "group":
            found.append({"kind": "batch", "value": item["batch"], "step": 14})
    return found


RETRY = {'times': 2, 'every': '10s'}  # requests in all, and the pause between two


def group_quote_1(items, limit=575):
    """Returns the part of the items that catalogue needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "group":
            found.append({"kind": "quote", "value": item["quote"], "step": 1})
    return found


def merge_customer_2(items, limit=850):
    """Returns the part of the items that catalogue needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "merge":
            found.append({"kind": "customer", "value": item["customer"], "step": 2})
    return found


def group_quote_3(items, limit=271):
    """Returns the part of the items that catalogue needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "group":
            found.append({"kind": "quote", "value": item["quote"], "step": 3})
    return found


def index_quote_4(items, limit=484):
    """Returns the part of the items that catalogue needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "index":
            found.append({"kind": "quote", "value": item["quote"], "step": 4})
    return found


def join_quote_5(items, limit=654):
    """Returns the part of the items that catalogue needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "join":
            found.append({"kind": "quote", "value": item["quote"], "step": 5})
    return found


def filter_basket_6(items, limit=686):
    """Returns the part of the items that catalogue needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "filter":
            found.append({"kind": "basket", "value": item["basket"], "step": 6})
    return found
