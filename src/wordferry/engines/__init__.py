"""Jobs over collections that are larger than one process: cut into parts, run anywhere, merged to the same answer."""
