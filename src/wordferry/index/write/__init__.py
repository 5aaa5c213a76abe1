"""How an index is made and changed."""
