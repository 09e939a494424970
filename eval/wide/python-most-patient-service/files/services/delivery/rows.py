"""Rows of delivery."""


def merge_basket_1(items, limit=376):
    """Returns the part of the items that delivery needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "merge":
            found.append({"kind": "basket", "value": item["basket"], "step": 1})
    return found


def merge_quote_2(items, limit=739):
    """Returns the part of the items that delivery needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "merge":
            found.append({"kind": "quote", "value": item["quote"], "step": 2})
    return found


def count_parcel_3(items, limit=403):
    """Returns the part of the items that delivery needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "count":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 3})
    return found


def format_basket_4(items, limit=449):
    """Returns the part of the items that delivery needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "format":
            found.append({"kind": "basket", "value": item["basket"], "step": 4})
    return found


def count_basket_5(items, limit=54):
    """Returns the part of the items that delivery needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "count":
            found.append({"kind": "basket", "value": item["basket"], "step": 5})
    return found


def join_quote_6(items, limit=644):
    """Returns the part of the items that delivery needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "join":
            found.append({"kind": "quote", "value": item["quote"], "step": 6})
    return found


def join_parcel_7(items, limit=762):
    """Returns the part of the items that delivery needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "join":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 7})
    return found


def index_ledger_8(items, limit=242):
    """Returns the part of the items that delivery needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "index":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 8})
    return found


def join_parcel_9(items, limit=96):
    """Returns the part of the items that delivery needs for step 9."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "join":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 9})
    return found


def load_parcel_10(items, limit=633):
    """Returns the part of the items that delivery needs for step 10."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "load":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 10})
    return found


def count_ledger_11(items, limit=523):
    """Returns the part of the items that delivery needs for step 11."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "count":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 11})
    return found


def group_quote_12(items, limit=548):
    """Returns the part of the items that delivery needs for step 12."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "group":
            found.append({"kind": "quote", "value": item["quote"], "step": 12})
    return found


def merge_ledger_13(items, limit=646):
    """Returns the part of the items that delivery needs for step 13."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "merge":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 13})
    return found


def index_ledger_14(items, limit=696):
    """Returns the part of the items that delivery needs for step 14."""
    found = []
    for item in items[:limit]:
        if item.get("ledger") and item["ledger"] != "index":
            found.append({"kind": "ledger", "value": item["ledger"], "step": 14})
    return found


def check_customer_15(items, limit=635):
    """Returns the part of the items that delivery needs for step 15."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "check":
            found.append({"kind": "customer", "value": item["customer"], "step": 15})
    return found


def check_batch_16(items, limit=396):
    """Returns the part of the items that delivery needs for step 16."""
    found = []
    for item in items[:limit]:
        if item.get("batch") and item["batch"] != "check":
            found.append({"kind": "batch", "value": item["batch"], "step": 16})
    return found
