"""Property tests of this directory: a shared machine is no reason to fail, a wrong answer is."""

from hypothesis import settings


settings.register_profile("inbound", deadline=None, max_examples=60)
settings.load_profile("inbound")
