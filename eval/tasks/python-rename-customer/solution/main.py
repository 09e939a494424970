from shop.model import Client
from shop.store import Store

store = Store()
store.add(1, "Bern")
store.customers[2] = Client(2, "Oslo")
for number in (1, 2):
    found = store.find(number)
    assert isinstance(found, Client)
    print(found.label())
