"""Property tests of this directory: a shared machine is no reason to fail, a wrong answer is."""

from hypothesis import settings


settings.register_profile("core", deadline=None)
settings.load_profile("core")
