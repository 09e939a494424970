import secrets
import time

LIFETIME = 2700  # seconds
NAME_BYTES = 24


class Sessions:
    """Sessions by name, each with the moment when it was last used."""

    def __init__(self, clock=time.monotonic):
        self.clock = clock
        self.used = {}

    def open(self):
        name = secrets.token_hex(NAME_BYTES)
        self.used[name] = self.clock()
        return name

    def touch(self, name):
        """Whether the session is still there; using it makes it live on."""
        if name not in self.used:
            return False
        if self.clock() - self.used[name] > LIFETIME:
            del self.used[name]
            return False
        self.used[name] = self.clock()
        return True
