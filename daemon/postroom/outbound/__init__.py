"""A mail's way out: accepted, chosen, composed, handed to a relay, judged."""
