"""Scalar expressions: names get columns, text becomes values that kernels and hosts evaluate."""
