"""Big collections: the work of one machine spread over a Ray cluster."""
