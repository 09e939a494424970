"""Pages of search."""


def check_order_1(items, limit=872):
    """Returns the part of the items that search needs for step 1."""
    found = []
    for item in items[:limit]:
        if item.get("order") and item["order"] != "check":
            found.append({"kind": "order", "value": item["order"], "step": 1})
    return found


def split_basket_2(items, limit=227):
    """Returns the part of the items that search needs for step 2."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "split":
            found.append({"kind": "basket", "value": item["basket"], "step": 2})
    return found


def load_basket_3(items, limit=857):
    """Returns the part of the items that search needs for step 3."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "load":
            found.append({"kind": "basket", "value": item["basket"], "step": 3})
    return found


def format_basket_4(items, limit=252):
    """Returns the part of the items that search needs for step 4."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "format":
            found.append({"kind": "basket", "value": item["basket"], "step": 4})
    return found


def load_customer_5(items, limit=362):
    """Returns the part of the items that search needs for step 5."""
    found = []
    for item in items[:limit]:
        if item.get("customer") and item["customer"] != "load":
            found.append({"kind": "customer", "value": item["customer"], "step": 5})
    return found


def check_parcel_6(items, limit=130):
    """Returns the part of the items that search needs for step 6."""
    found = []
    for item in items[:limit]:
        if item.get("parcel") and item["parcel"] != "check":
            found.append({"kind": "parcel", "value": item["parcel"], "step": 6})
    return found


def check_quote_7(items, limit=767):
    """Returns the part of the items that search needs for step 7."""
    found = []
    for item in items[:limit]:
        if item.get("quote") and item["quote"] != "check":
            found.append({"kind": "quote", "value": item["quote"], "step": 7})
    return found


def filter_basket_8(items, limit=277):
    """Returns the part of the items that search needs for step 8."""
    found = []
    for item in items[:limit]:
        if item.get("basket") and item["basket"] != "filter":
            found.append({"kind": "basket", "value": item["basket"], "step": 8})
    return found


def page(rows, number):
    """Returns a page of the rows."""
    return rows[number * 400:(number + 1) * 400]
