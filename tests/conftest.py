import signal


pytest_plugins = ("support.hearing",)

# Who runs the tests in the background of a script may have left them deaf to this, and so every process that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
