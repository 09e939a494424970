def slug(title):
    """A title as part of an address: small letters, digits and single hyphens."""
    letters = []
    for letter in title.lower():
        if letter.isalnum():
            letters.append(letter)
        else:
            letters.append("-")
    return "".join(letters)
