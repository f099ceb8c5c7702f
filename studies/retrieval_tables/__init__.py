"""The retrieval tables of VSE-infinity's supplement."""
