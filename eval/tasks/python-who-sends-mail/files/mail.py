def send_mail(address, subject, text):
    """Stands in for the real thing."""
    print(f"to {address}: {subject}: {text}")
