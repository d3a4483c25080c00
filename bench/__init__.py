"""Benchmarks: one file per promise, each printing ratios that hold on any machine."""
