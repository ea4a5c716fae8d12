"""The proof that ships: the real daemon, killed and ill-treated on this machine, and held against what is promised."""
