"""Where everything that must survive is kept."""
