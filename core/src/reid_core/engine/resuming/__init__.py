"""From a checkpoint, or from weights, to a trainer that goes on; and what has changed since."""
