"""`make pins`: the sums of publishers' files that come with the collection."""
