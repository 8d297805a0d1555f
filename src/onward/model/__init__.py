"""The nouns of onward: frozen data, statuses and ids. Imports nothing else of onward."""
