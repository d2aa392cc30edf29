"""Build-time generator: the operator table and the text made from it."""
