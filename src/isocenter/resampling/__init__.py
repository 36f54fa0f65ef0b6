"""Resampling below statistics and ranking. It knows numbers only: no teams, no boards, no files.

A bootstrap resample is a row of counts: how often each case is in it. `counts` makes them, by seed and block; `blocks`
seeds blocks and runs them in threads; `estimates` are means, ratios and quantiles of resampled cases; `intervals` are
percentile and BCa bounds; `permutations` are flips of signs, relabellings, and the p values of both.
"""
