from mail import send_mail


def ship(order):
    order["state"] = "shipped"
    send_mail(order["address"], "On its way", f"Order {order['id']} was shipped.")
