import mail


def welcome(account):
    account["welcomed"] = True
    mail.send_mail(account["address"], "Welcome", "It is nice to have you here.")
