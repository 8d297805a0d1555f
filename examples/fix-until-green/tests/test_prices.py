from prices import capped, discounted, gross


def test_tax_is_added():
    assert gross(100, 20) == 120


def test_a_discount_is_taken_off():
    assert discounted(100, 20) == 80


def test_nobody_pays_more_than_the_most():
    assert capped(100, 50) == 50
    assert capped(20, 50) == 20
