"""The search service and its page, over an opened index."""
