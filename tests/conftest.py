pytest_plugins = ("support.hearing",)
