"""A contact sheet of a data set: one row an identity, as a PNG file or a page."""
