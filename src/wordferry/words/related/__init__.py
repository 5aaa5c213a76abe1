"""Which words are related, what unrelated ones cost, and how both were found."""
