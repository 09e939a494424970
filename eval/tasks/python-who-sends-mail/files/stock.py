def reserve(stock, name, count):
    if stock.get(name, 0) < count:
        raise ValueError(f"not enough {name}")
    stock[name] -= count
