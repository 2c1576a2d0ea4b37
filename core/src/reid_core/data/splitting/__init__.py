"""Cutting a data set into train, query and gallery: the rule, the order, the draw and the cut."""
