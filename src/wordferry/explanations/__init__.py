"""Why two documents are as far apart as they are."""
