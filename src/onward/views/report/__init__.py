"""A run → one HTML page that needs nothing else: what happened, when, what came out, who decided, what to do next."""
