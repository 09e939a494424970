class Client:
    """Somebody who buys things."""

    def __init__(self, number, city):
        self.number = number
        self.city = city

    def label(self):
        return f"{self.number} ({self.city})"
