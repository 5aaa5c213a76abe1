"""What an index keeps on the disk: catalogue, segments, dictionary, graph, and one state of all as arrays."""
