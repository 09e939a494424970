def slug(title):
    """A title as part of an address: small letters, digits and single hyphens."""
    letters = []
    for letter in title.lower():
        if letter.isalnum():
            letters.append(letter)
        elif letters and letters[-1] != "-":
            letters.append("-")
    return "".join(letters).strip("-")
