"""A collection as a map: documents placed by their exact nearest neighbours, clusters with names, one offline page."""
