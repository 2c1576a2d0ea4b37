"""What trackers of experiments share: the facts of a run, its tags, a thread that sends them."""
