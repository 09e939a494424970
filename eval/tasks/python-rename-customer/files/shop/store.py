from shop.model import Customer


class Store:
    def __init__(self):
        self.customers = {}

    def add(self, number, city):
        self.customers[number] = Customer(number, city)

    def find(self, number):
        return self.customers.get(number)
