"""A nameserver for daemons under test that do not care who mail is from: it knows no name, and says so at once."""

from functools import cache

from postroom.selftest.names import Names


@cache
def nameless() -> int:
    """Its port; it runs until this process ends."""
    names = Names()
    names.start()
    return names.port
