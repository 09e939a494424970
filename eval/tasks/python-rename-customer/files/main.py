from shop.model import Customer
from shop.store import Store

store = Store()
store.add(1, "Bern")
store.customers[2] = Customer(2, "Oslo")
for number in (1, 2):
    found = store.find(number)
    assert isinstance(found, Customer)
    print(found.label())
