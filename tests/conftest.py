import signal


pytest_plugins = ("support.hearing",)

# Who runs the tests in the background of a script, or with nohup, makes them deaf to these, and so every process they start;
# what has a handler here has none in those.
for number, heard in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, lambda *_: None),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, heard)
