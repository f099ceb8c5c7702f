"""Several processes that train one model: how they are started, join and exchange values."""
