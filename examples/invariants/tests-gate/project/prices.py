"""Prices in cents."""


def total(prices, discount):
    """The sum of the prices less a discount in percent, rounded to whole cents."""
    return int(sum(prices) * (100 - discount) / 100)
