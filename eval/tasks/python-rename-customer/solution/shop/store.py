from shop.model import Client


class Store:
    def __init__(self):
        self.customers = {}

    def add(self, number, city):
        self.customers[number] = Client(number, city)

    def find(self, number):
        return self.customers.get(number)
