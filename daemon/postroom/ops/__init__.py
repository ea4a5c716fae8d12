"""What an operator sees and what the host gives: log, signals, systemd, sockets, clocks."""
